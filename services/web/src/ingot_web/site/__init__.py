"""Routes of the whole site: static files, the style guide, other URLs of pages."""
