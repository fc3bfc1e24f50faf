"""Forms that were sent lately: one that comes twice, as by a double click, changes something once.

This process alone knows of them. A copy that reaches another process of web is taken for a new one.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable

MOST = 10_000
"""Forms that are remembered, the latest."""


class SentForms:
    """Digests of forms that are on their way, or have changed something."""

    def __init__(self, most: int = MOST) -> None:
        self._digests: OrderedDict[bytes, None] = OrderedDict()
        self._most = most

    def add(self, digest: bytes) -> bool:
        """False if it was sent before."""
        if digest in self._digests:
            return False
        self._digests[digest] = None
        if len(self._digests) > self._most:
            self._digests.popitem(last=False)
        return True

    def remove(self, digest: bytes) -> None:
        """It was refused before it changed anything, and may be sent again."""
        self._digests.pop(digest, None)


def digest_of(parts: Iterable[bytes]) -> bytes:
    """Of all that a form has, in order."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()
