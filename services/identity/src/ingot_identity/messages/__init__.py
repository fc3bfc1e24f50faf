"""Messages to email addresses, which mail sends: their contents, and the secrets of their links."""
