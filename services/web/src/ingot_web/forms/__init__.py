"""Forms: their fields, and their protection against other sites and double submission."""
