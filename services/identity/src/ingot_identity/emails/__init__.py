"""E-mail addresses of users."""
