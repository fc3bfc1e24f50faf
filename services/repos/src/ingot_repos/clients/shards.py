"""Connections to the processes that serve the other shards, and what a move asks of them."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from ingot_chassis.errors import NotFound, Unavailable
from ingot_chassis.peers.http_client import Answer, Origin
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity

_T = TypeVar("_T")

FindOrigin = Callable[[str], Awaitable[Origin | None]]
"""The origin of a shard that is not in the settings; None: nobody added it."""


class FileList(msgspec.Struct, frozen=True):
    """The files of a repository that are asked for."""

    paths: list[str]


class Shards:
    """The other shards by name."""

    def __init__(self, origins: dict[str, Origin], find: FindOrigin, identity: ServiceIdentity) -> None:
        self._origins, self._find, self._identity = origins, find, identity

    @property
    def names(self) -> Sequence[str]:
        """Those of the settings."""
        return list(self._origins)

    async def origin(self, name: str) -> Origin:
        """Raises Unavailable for a shard that is neither in the settings nor added."""
        if name not in self._origins:
            origin = await self._find(name)
            if origin is None:
                raise Unavailable(f"the shard {name} is not in INGOT_REPOS_SHARDS, and was not added")
            self._origins[name] = origin
        return self._origins[name]

    async def contents(self, shard: str, repository_id: int, answer: type[_T]) -> _T:
        """What a repository consists of. Raises NotFound without files, Unavailable, ConnectionError."""
        async with await self._ask(shard, "GET", f"{repository_id}") as sent:
            return msgspec.json.decode(await sent.whole(), type=answer)

    async def files(
        self, shard: str, repository_id: int, paths: Sequence[str]
    ) -> AsyncGenerator[bytes, None]:
        """The bytes of these files of a repository, one behind the other. Raises as ``contents``."""
        body = msgspec.json.encode(FileList(list(paths)))
        async with await self._ask(shard, "POST", f"{repository_id}/files", body) as sent:
            async for part in _parts(sent):
                yield part

    async def stored_object(self, shard: str, key: str) -> AsyncGenerator[bytes, None]:
        """The bytes that the shard stores under a key. Raises as ``contents``."""
        async with await self._ask(shard, "GET", f"objects/{key}") as sent:
            async for part in _parts(sent):
                yield part

    async def _ask(self, shard: str, method: str, path: str, body: bytes = b"") -> Answer:
        headers = [(SERVICE_HEADER.encode(), self._identity.token("repos").encode())]
        if body:
            headers.append((b"content-type", b"application/json"))
        origin = await self.origin(shard)
        answer = await origin.request(method, f"/internal/moves/{path}".encode(), headers, body)
        if answer.status == 200:
            return answer
        async with answer:
            await answer.whole()
        raise NotFound if answer.status == 404 else Unavailable(f"the shard {shard} answered {answer.status}")

    async def close(self) -> None:
        for origin in self._origins.values():
            await origin.close()


async def _parts(answer: Answer) -> AsyncGenerator[bytes, None]:
    more = True
    while more:
        part, more = await answer.part()
        if part:
            yield part
