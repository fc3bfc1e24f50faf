"""Issues that block other issues."""
