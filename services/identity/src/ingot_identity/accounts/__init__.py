"""Users and organizations: their rows, names, and the parts of responses about accounts."""
