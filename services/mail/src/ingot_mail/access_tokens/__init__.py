"""Access tokens for mail servers that accept no password."""
