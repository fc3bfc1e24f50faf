"""The database of a service: connections, transactions, prepared statements, column types and migrations."""
