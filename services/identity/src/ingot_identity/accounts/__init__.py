"""Users and organizations: their rows, names, and the parts that every answer about an account needs."""
