"""Whether captions will run on this machine, and how late they will be."""
