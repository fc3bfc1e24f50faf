"""Reading of replies, without HTTP and SQL."""
