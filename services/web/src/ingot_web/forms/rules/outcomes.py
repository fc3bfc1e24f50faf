"""Outcomes of forms, which the next page shows once.

An outcome is in the URL of the page, because web has no cookies for outcomes. It is signed for one caller and
one page, so links of other sites cannot show a wrong outcome. Each process only knows the outcomes that it
has shown. Another process shows an outcome again if the page is reloaded within ``LIFETIME`` seconds.
"""

from urllib.parse import urlencode

from ingot_web.forms.rules.sent import RecentDigests
from ingot_web.forms.rules.tokens import FormTokens

LIFETIME = 60
"""Seconds within which the page must be loaded to show the outcome."""
PARAMETERS = ("outcome", "proof")
"""In the query."""


class Outcomes:
    """Writes outcomes of forms into queries, and reads them."""

    def __init__(self, tokens: FormTokens) -> None:
        self._tokens, self._proofs = tokens, RecentDigests()

    def query(self, caller: str, path: str, outcome: str, now: int) -> str:
        """Return the query that makes the page ``path`` show ``outcome`` to ``caller``.

        ``now`` is the current time in seconds.
        """
        proof = self._tokens.token(_words(caller, path, outcome), now)
        return urlencode(dict(zip(PARAMETERS, (outcome, proof), strict=True)))

    def is_new(self, caller: str, path: str, outcome: str, proof: str, now: int) -> bool:
        """True if the proof is valid and was not used before in this process."""
        is_true = self._tokens.accepts(proof, _words(caller, path, outcome), now, lifetime=LIFETIME)
        return is_true and self._proofs.add(proof.encode())


def _words(caller: str, path: str, outcome: str) -> str:
    return f"{caller} outcome {outcome} on {path}"
