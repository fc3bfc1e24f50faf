"""Passkeys: credentials of WebAuthn, as a second factor or in place of the password."""
