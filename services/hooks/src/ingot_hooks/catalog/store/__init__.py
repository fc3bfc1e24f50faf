"""Tables, rows and SQL of catalog."""
