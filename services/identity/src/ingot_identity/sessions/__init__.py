"""Sessions of people in browsers."""
