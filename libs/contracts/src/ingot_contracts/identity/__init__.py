"""Contract of identity: its accounts, credentials and events."""
