"""Access tokens for mail servers that take no password."""
