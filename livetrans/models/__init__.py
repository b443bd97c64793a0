"""Models beyond the embedded ones: the catalogue file, the fetch from the hub, and what other programs have fetched."""
