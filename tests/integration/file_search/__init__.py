"""Files that are searched: read, embedded, found, cited."""
