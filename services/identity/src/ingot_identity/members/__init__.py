"""Members of organizations."""
