"""Routes of OAuth2."""
