"""What hooks calls: identity and repos, and the endpoints of webhooks."""
