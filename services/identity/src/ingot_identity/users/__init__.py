"""Users: profiles, settings, and administration."""
