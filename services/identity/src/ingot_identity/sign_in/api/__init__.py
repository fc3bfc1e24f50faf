"""Routes of pages to sign in."""
