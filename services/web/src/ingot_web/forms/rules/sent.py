"""Recently sent forms. A form that is sent twice, such as by a double click, has an effect only once.

Processes of web share the digests through Redis, if it is configured (``forms/store.py``).
"""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable

from ingot_web.forms.store import SharedDigests

MOST = 10_000
"""Maximum number of digests that a process stores: the latest ones."""


class RecentDigests:
    """Digests that this process has seen recently."""

    def __init__(self, most: int = MOST) -> None:
        self._digests: OrderedDict[bytes, None] = OrderedDict()
        self._most = most

    def add(self, digest: bytes) -> bool:
        """Add a digest. Return False if it was seen before."""
        if digest in self._digests:
            return False
        self._digests[digest] = None
        if len(self._digests) > self._most:
            self._digests.popitem(last=False)
        return True

    def remove(self, digest: bytes) -> None:
        self._digests.pop(digest, None)


class SentForms:
    """Digests of forms that are being handled, or that have changed something.

    ``shared`` has the digests of all processes.
    """

    def __init__(self, shared: SharedDigests | None = None) -> None:
        self._own, self._shared = RecentDigests(), shared

    async def add(self, digest: bytes) -> bool:
        """Add a digest. Return False if the form was sent before."""
        if not self._own.add(digest):
            return False
        if self._shared is None or await self._shared.add(digest):
            return True
        # Another process has it, and may forget it again.
        self._own.remove(digest)
        return False

    async def keep(self, digest: bytes) -> None:
        """Keep the digest of a form that has changed something, so a second submission is rejected."""
        if self._shared is not None:
            await self._shared.keep(digest)

    async def remove(self, digest: bytes) -> None:
        """Remove the digest of a form that was rejected before any change, so it may be sent again."""
        self._own.remove(digest)
        if self._shared is not None:
            await self._shared.remove(digest)


def digest_of(parts: Iterable[bytes]) -> bytes:
    """Return a digest of all parts of a form. Their order matters."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()
