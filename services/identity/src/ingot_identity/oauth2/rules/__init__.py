"""Rules and use cases of OAuth2."""
