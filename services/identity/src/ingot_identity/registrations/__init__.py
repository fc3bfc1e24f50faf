"""Pages where people make an account of their own."""
