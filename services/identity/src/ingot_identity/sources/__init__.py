"""Sources of accounts: this server, and other systems for signing in or managing accounts."""
