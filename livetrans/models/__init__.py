"""Models: those on this machine, the catalogue of those that can be fetched, and the hub that they are fetched from."""
