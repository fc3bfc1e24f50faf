"""Tables, rows and SQL of keys."""
