"""Sign-ins by a reverse proxy that names its user in a header."""
