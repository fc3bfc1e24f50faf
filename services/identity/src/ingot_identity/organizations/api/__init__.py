"""Routes of organizations."""
