"""Proofs that a user owns an OpenPGP key: its signature of a token.

A token belongs to an account and to a period of ten minutes. It is accepted until the end of the next period.
"""

import hashlib
import hmac

from pysequoia import Cert, Sig, verify

from ingot_chassis.clock import now
from ingot_chassis.security.openpgp_armor import signature_packet

STEP_SECONDS = 600
_ENDS = ("", "\n", "\r\n")
"""Line ends that echo(1), or an editor, may add to a token before it is signed."""


class ProofTokens:
    """The tokens of an account. They can be computed only with ``secret``."""

    def __init__(self, secret: str, account_id: int) -> None:
        self._secret, self._account_id = secret, account_id

    @property
    def current(self) -> str:
        return self._token(0)

    def are_signed(self, certificate: bytes, armored: str) -> bool:
        """True if the key of a certificate made this signature of a valid token.

        Blocks, so run it in a thread.
        """
        try:
            signature = Sig.from_bytes(signature_packet(armored.encode()))
            key = Cert.from_bytes(certificate)
        except (RuntimeError, ValueError):
            return False
        texts = [self._token(age) + end for age in (0, 1) for end in _ENDS]
        return any(_is_signed(key, text.encode(), signature) for text in texts)

    def _token(self, age: int) -> str:
        step = int(now().timestamp()) // STEP_SECONDS - age
        text = f"ingot openpgp key of {self._account_id} at {step}"
        return hmac.new(self._secret.encode(), text.encode(), hashlib.sha256).hexdigest()


def _is_signed(key: Cert, text: bytes, signature: Sig) -> bool:
    try:
        return bool(verify(bytes=text, store=lambda _ids: [key], signature=signature).valid_sigs)
    except (RuntimeError, ValueError):
        return False
