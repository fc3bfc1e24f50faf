"""Messages to addresses, which mail sends: what they say, and the secrets of their links."""
