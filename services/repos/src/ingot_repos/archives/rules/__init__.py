"""Rules of archives."""
