"""Tables, rows and SQL of times."""
