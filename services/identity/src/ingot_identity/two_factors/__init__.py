"""Second factors: codes of an app, passkeys and recovery codes."""
