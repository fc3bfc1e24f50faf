"""What a form carries so that no other site can send it: a word that only pages for the same caller have (CSRF)."""

import hashlib
import hmac

LIFETIME = 12 * 3600
"""Seconds for which a form can be sent; as long as a sign-in lasts."""


class FormTokens:
    """Makes and checks the tokens, with a key that all processes of the service have."""

    def __init__(self, private_key: str) -> None:
        self._key = hashlib.sha256(b"ingot web form " + private_key.encode()).digest()

    def token(self, caller: str, now: int) -> str:
        """For a page that ``caller`` gets at ``now``, in seconds."""
        return f"{now}.{self._signature(caller, now)}"

    def accepts(self, token: str, caller: str, now: int) -> bool:
        """Whether ``caller`` got the token, and not too long ago."""
        text, _, signature = token.partition(".")
        if not (text.isascii() and text.isdigit() and len(text) < 12) or not signature.isascii():
            return False
        issued = int(text)
        is_fresh = now - LIFETIME <= issued <= now + 60
        return is_fresh and hmac.compare_digest(signature, self._signature(caller, issued))

    def _signature(self, caller: str, issued: int) -> str:
        return hmac.new(self._key, f"{issued} {caller}".encode(), hashlib.sha256).hexdigest()
