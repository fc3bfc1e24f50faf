"""Tables, rows and SQL of pulls."""
