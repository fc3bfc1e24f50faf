"""Organizations: creation, settings, members, teams, labels."""
