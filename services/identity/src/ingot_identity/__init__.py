"""Identity: users, organizations, teams, keys and tokens. It says who a caller is, never what they may do to a repository."""
