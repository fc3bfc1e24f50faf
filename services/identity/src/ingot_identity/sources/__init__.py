"""Sources of accounts: this server, and other systems that sign users in or manage accounts."""
