"""Reviews of pull requests, and comments on their lines."""
