"""Contract of issues: issues, pull requests, reviews and events."""
