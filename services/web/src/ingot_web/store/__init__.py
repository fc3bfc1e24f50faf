"""What processes of web share, where there is a Redis."""
