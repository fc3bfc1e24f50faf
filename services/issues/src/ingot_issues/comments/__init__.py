"""Comments on issues and pull requests."""
