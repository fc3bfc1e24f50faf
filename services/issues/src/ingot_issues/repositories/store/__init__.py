"""Tables, rows and SQL of repositories."""
