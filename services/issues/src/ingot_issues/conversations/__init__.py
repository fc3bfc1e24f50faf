"""The conversation of an issue, for pages."""
