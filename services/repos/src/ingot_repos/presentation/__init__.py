"""The shapes of repositories and accounts in responses and events."""
