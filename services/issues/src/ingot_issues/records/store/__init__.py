"""Tables, rows and SQL of records."""
