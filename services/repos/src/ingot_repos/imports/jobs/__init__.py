"""Jobs of imports."""
