"""Sessions of users in browsers."""
