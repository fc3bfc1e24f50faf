"""Passkeys: credentials of WebAuthn, used as a second factor or instead of the password."""
