"""Tokens of forms against cross-site requests (CSRF). Only pages for the same caller contain them."""

import hashlib
import hmac
import secrets

LIFETIME = 12 * 3600
"""Seconds for which a form can be sent.

It equals the lifetime of a session (`LIFETIME` in `sessions/rules.py` of identity).
"""


class FormTokens:
    """Creates and checks the tokens with a key that all processes of the service share."""

    def __init__(self, private_key: str) -> None:
        self._key = hashlib.sha256(b"ingot web form " + private_key.encode()).digest()

    def token(self, caller: str, now: int) -> str:
        """Return a token for a page that ``caller`` gets at ``now``, in seconds.

        Each token is different. Otherwise tokens could be guessed from the lengths of compressed pages
        (BREACH).
        """
        nonce = secrets.token_hex(8)
        return f"{now}.{nonce}.{self._signature(caller, now, nonce)}"

    def accepts(self, token: str, caller: str, now: int, *, lifetime: int = LIFETIME) -> bool:
        """True if ``caller`` got the token at most ``lifetime`` seconds ago."""
        text, _, rest = token.partition(".")
        nonce, _, signature = rest.partition(".")
        if not (text.isascii() and text.isdigit() and len(text) < 12) or not rest.isascii():
            return False
        issued = int(text)
        is_fresh = now - lifetime <= issued <= now + 60
        return is_fresh and hmac.compare_digest(signature, self._signature(caller, issued, nonce))

    def _signature(self, caller: str, issued: int, nonce: str) -> str:
        return hmac.new(self._key, f"{issued} {nonce} {caller}".encode(), hashlib.sha256).hexdigest()
