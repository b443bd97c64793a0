"""`livetrans doctor`: what this machine has, whether it works, and how far behind the speech its captions will be."""
