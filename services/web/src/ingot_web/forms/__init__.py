"""Forms: their fields, their protection against other sites and against double submission."""
