"""Outcomes of forms, which the next page shows once. They are in its address, because no cookie reaches web.

Each is signed for one person and one page, so links of other sites cannot show a wrong outcome. Only this
process remembers shown outcomes: another process shows one again if the page is reloaded within ``LIFETIME``.
"""

from urllib.parse import urlencode

from ingot_web.forms.rules.sent import RecentDigests
from ingot_web.forms.rules.tokens import FormTokens

LIFETIME = 60
"""Seconds in which the page has to be loaded to say it."""
PARAMETERS = ("outcome", "proof")
"""In the query."""


class Outcomes:
    """Writes outcomes of forms into queries, and reads them."""

    def __init__(self, tokens: FormTokens) -> None:
        self._tokens, self._proofs = tokens, RecentDigests()

    def query(self, caller: str, path: str, outcome: str, now: int) -> str:
        """Return the query with which the page ``path`` shows ``outcome`` to ``caller``; made ``now``."""
        proof = self._tokens.token(_words(caller, path, outcome), now)
        return urlencode(dict(zip(PARAMETERS, (outcome, proof), strict=True)))

    def is_new(self, caller: str, path: str, outcome: str, proof: str, now: int) -> bool:
        """True the first time that the page is loaded with a valid proof."""
        is_true = self._tokens.accepts(proof, _words(caller, path, outcome), now, lifetime=LIFETIME)
        return is_true and self._proofs.add(proof.encode())


def _words(caller: str, path: str, outcome: str) -> str:
    return f"{caller} outcome {outcome} on {path}"
