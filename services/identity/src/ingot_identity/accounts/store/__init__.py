"""Tables, rows and SQL of accounts."""
