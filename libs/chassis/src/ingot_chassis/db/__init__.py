"""The database of one service: connections, transactions, prepared statements, column types and migrations."""
