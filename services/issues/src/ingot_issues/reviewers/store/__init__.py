"""Tables, rows and SQL of reviewers."""
