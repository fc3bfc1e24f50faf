"""Tables, rows and SQL of issues."""
