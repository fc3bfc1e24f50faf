"""References to issues in texts, such as `#3`."""
