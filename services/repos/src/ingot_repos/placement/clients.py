"""A client for the other shards: their addresses, and data for moves and replicas."""

import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from ingot_chassis.errors import NotFound, Unavailable
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_wire.client import Origin, Response

_T = TypeVar("_T")

FindUrl = Callable[[str], Awaitable[str]]
"""Returns the URL of a shard that is not in the settings; empty if it was not added."""
URL_SECONDS = 5.0
"""Seconds for which a URL is cached."""
UNREACHABLE_SECONDS = 10.0
"""Seconds during which an unreachable shard is asked only after the others."""


class AddedShard(msgspec.Struct, frozen=True):
    """A shard that an operator added at runtime. ``at`` is the time of the lookup."""

    url: str
    origin: Origin
    at: float


class UnreadableRefs(Exception):
    """The refs of the repository are damaged on its shard."""


class FileList(msgspec.Struct, frozen=True):
    """The requested files of a repository."""

    paths: list[str]


class Shards:
    """The other shards by name. ``origins`` are the shards in the settings."""

    def __init__(
        self,
        origins: dict[str, Origin],
        find: FindUrl,
        connect: Callable[[str], Origin],
        identity: ServiceIdentity,
    ) -> None:
        self.origins, self._find, self._connect, self._identity = origins, find, connect, identity
        self._added = dict[str, AddedShard]()
        self._absent_until = dict[str, float]()

    @property
    def names(self) -> Sequence[str]:
        """Return the names of the shards in the settings."""
        return list(self.origins)

    def in_order(self, names: Sequence[str]) -> Sequence[str]:
        """Return ``names`` in the order in which to ask these shards, which have equal data.

        The order is random, but shards that could not be reached recently come last.
        """
        clock = time.monotonic()
        shuffled = random.sample(names, len(names))  # spreads the load; not a secret
        return sorted(shuffled, key=lambda name: self._absent_until.get(name, 0.0) > clock)

    def note_unreachable(self, name: str) -> None:
        """Record that the shard could not be reached, for UNREACHABLE_SECONDS."""
        self._absent_until[name] = time.monotonic() + UNREACHABLE_SECONDS

    async def origin(self, name: str) -> Origin:
        """Return the address of a shard. Raises Unavailable if it is unknown."""
        if name in self.origins:
            return self.origins[name]
        shard = self._added.get(name)
        if shard is None or time.monotonic() > shard.at + URL_SECONDS:
            shard = await self._look_up(name)
        return shard.origin

    async def _look_up(self, name: str) -> AddedShard:
        """Look up the URL of an added shard. Raises Unavailable if it has none."""
        url = await self._find(name)
        before = self._added.pop(name, None)
        is_same = before is not None and before.url == url
        if url:
            origin = before.origin if before is not None and is_same else self._connect(url)
            self._added[name] = AddedShard(url, origin, time.monotonic())
        if before is not None and not is_same:
            await before.origin.close()
        if not url:
            raise Unavailable(f"the shard {name} is not in INGOT_REPOS_SHARDS, and was not added")
        return self._added[name]

    async def contents(self, shard: str, repository_id: int, answer: type[_T]) -> _T:
        """Fetch the contents of a repository.

        Raises NotFound if it has no files, UnreadableRefs, Unavailable, ConnectionError.
        """
        async with await self._ask(shard, "GET", f"moves/{repository_id}") as sent:
            return msgspec.json.decode(await sent.read(), type=answer)

    async def files(
        self, shard: str, repository_id: int, paths: Sequence[str]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of these files of a repository in sequence. Raises the errors of ``contents``."""
        body = msgspec.json.encode(FileList(list(paths)))
        async with await self._ask(shard, "POST", f"moves/{repository_id}/files", body) as sent:
            async for part in _parts(sent):
                yield part

    async def stored_object(self, shard: str, key: str) -> AsyncGenerator[bytes, None]:
        """Yield the bytes that the shard stores under a key. Raises the errors of ``contents``."""
        async with await self._ask(shard, "GET", f"moves/objects/{key}") as sent:
            async for part in _parts(sent):
                yield part

    async def unadopted(self, shard: str) -> list[str]:
        """Return the full names of the folders of a shard that have no row. Raises Unavailable."""
        try:
            async with await self._ask(shard, "GET", "unadopted") as sent:
                return msgspec.json.decode(await sent.read(), type=list[str])
        except (OSError, NotFound) as error:
            raise Unavailable(f"the shard {shard} does not answer") from error

    async def _ask(self, shard: str, method: str, path: str, body: bytes = b"") -> Response:
        headers = [(SERVICE_HEADER.encode(), self._identity.token("repos").encode())]
        if body:
            headers.append((b"content-type", b"application/json"))
        origin = await self.origin(shard)
        answer = await origin.request(method, f"/internal/{path}".encode(), headers, body)
        if answer.status == 200:
            return answer
        async with answer:
            await answer.read()
        if answer.status == 409:
            raise UnreadableRefs
        raise NotFound if answer.status == 404 else Unavailable(f"the shard {shard} answered {answer.status}")

    async def close(self) -> None:
        for origin in (*self.origins.values(), *(one.origin for one in self._added.values())):
            await origin.close()


async def _parts(answer: Response) -> AsyncGenerator[bytes, None]:
    more = True
    while more:
        part, more = await answer.read_part()
        if part:
            yield part
