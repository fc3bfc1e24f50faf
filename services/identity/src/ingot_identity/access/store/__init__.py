"""Tables, rows and SQL of memberships and teams."""
