"""Rules and use cases of passkeys."""
