"""Second factors: codes of an app and recovery codes."""
