"""Tables, rows and SQL of notifications."""
