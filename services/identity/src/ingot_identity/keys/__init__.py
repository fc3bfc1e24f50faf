"""SSH and OpenPGP keys of users."""
