"""Tables, rows and SQL of OAuth2."""
