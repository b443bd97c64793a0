"""Names: the file of terms, and the repair of what a recogniser wrote in their place."""
