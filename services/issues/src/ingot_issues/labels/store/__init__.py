"""Tables, rows and SQL of labels."""
