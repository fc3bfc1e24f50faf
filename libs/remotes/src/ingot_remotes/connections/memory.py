"""A cache for one source in a process: responses by URL with their ETags, and the addresses of users.

A page that a rate limit interrupts is read again from its beginning. GitHub does not count a request whose
response did not change (RFC 9110, section 13.1.2). So the second attempt gets further than the first.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from ingot_remotes.interface.source import PersonKey

MOST_BYTES = 4 * 1024 * 1024
LARGEST_ANSWER = 512 * 1024
MOST_ADDRESSES = 10_000


class CachedAnswer(NamedTuple):
    """A cached response. ``links`` has the queries of the header Link by relation."""

    etag: str
    headers: Mapping[str, str]
    links: Mapping[str, str]
    body: bytes


class SourceMemory:
    """The cache, of a bounded size. Responses that were stored first are evicted first."""

    def __init__(self) -> None:
        self._answers, self._bytes = OrderedDict[str, CachedAnswer](), 0
        self.addresses: dict[PersonKey, str] = {}
        self.absent: set[str] = set()
        """Optional lists that the source does not have."""

    def answer(self, url: str) -> CachedAnswer | None:
        return self._answers.get(url)

    def remember(self, url: str, answer: CachedAnswer) -> None:
        if (earlier := self._answers.pop(url, None)) is not None:
            self._bytes -= len(earlier.body)
        if len(answer.body) > LARGEST_ANSWER:
            return
        self._answers[url] = answer
        self._bytes += len(answer.body)
        while self._bytes > MOST_BYTES:
            self._bytes -= len(self._answers.popitem(last=False)[1].body)

    def remember_address(self, person: PersonKey, address: str) -> None:
        """Cache the address of a person. The least recently used address is evicted first."""
        self.addresses.pop(person, None)
        self.addresses[person] = address
        if len(self.addresses) > MOST_ADDRESSES:
            del self.addresses[next(iter(self.addresses))]
