"""Identity: users, organizations, teams, keys and tokens. It finds out who a caller is; repos decides about repositories."""
