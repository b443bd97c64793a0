"""`livetrans doctor`: what this machine has, whether it works, and how far behind the voice its captions will be."""
