"""Contract of repos: repositories, their git operations and events."""
