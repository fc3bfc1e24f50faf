"""Routes without a subject: static files, the style guide, other addresses of pages."""
