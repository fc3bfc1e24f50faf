"""Sign-ins by a reverse proxy that says who its user is."""
