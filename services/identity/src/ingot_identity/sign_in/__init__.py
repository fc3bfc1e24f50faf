"""Pages in a browser: sign-in, and consent to an OAuth2 application."""
