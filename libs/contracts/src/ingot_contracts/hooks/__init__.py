"""Contract of hooks: payloads of webhooks and events."""
