"""Teams of organizations."""
