"""Routes without a subject: static files, the style guide, other URLs of pages."""
