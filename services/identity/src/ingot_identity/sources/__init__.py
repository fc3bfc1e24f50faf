"""Sources of accounts: this server, and other systems that people sign in with or that manage accounts."""
