"""The timeline of an issue."""
