"""Settings of the caller's own account: profile, keys, tokens, second factor, sessions."""
