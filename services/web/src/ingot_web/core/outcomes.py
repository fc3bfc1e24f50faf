"""What a form has done, as the page to which it leads says it once. It stands in the address, since no cookie reaches web.

It is signed for one person and one page, so that no link of others makes a page say what never happened. This process
alone knows what was said: another one says it again when the page is loaded anew within ``LIFETIME``.
"""

from urllib.parse import urlencode

from ingot_web.core.form_tokens import FormTokens
from ingot_web.core.sent_forms import RecentDigests

LIFETIME = 60
"""Seconds in which the page has to be loaded to say it."""
PARAMETERS = ("outcome", "proof")
"""In the query."""


class Outcomes:
    """Makes the queries, and finds in them what is to be said."""

    def __init__(self, tokens: FormTokens) -> None:
        self._tokens, self._proofs = tokens, RecentDigests()

    def query(self, caller: str, path: str, outcome: str, now: int) -> str:
        """For the address of the page ``path``, to which ``caller`` is sent ``now`` because ``outcome`` was reached."""
        proof = self._tokens.token(_words(caller, path, outcome), now)
        return urlencode(dict(zip(PARAMETERS, (outcome, proof), strict=True)))

    def is_new(self, caller: str, path: str, outcome: str, proof: str, now: int) -> bool:
        """Whether that page is to say it; from now on it is said."""
        is_true = self._tokens.accepts(proof, _words(caller, path, outcome), now, lifetime=LIFETIME)
        return is_true and self._proofs.add(proof.encode())


def _words(caller: str, path: str, outcome: str) -> str:
    return f"{caller} outcome {outcome} on {path}"
