"""Restricts fetches to objects that are reachable from visible refs.

In protocol 0 git itself refuses other objects. In protocol 2 it sends every object of the repository
(gitprotocol-v2(5), `want`), including objects of deleted branches.

In both protocols git discloses more than objects. It sends the parents of commits that the client declares as
`shallow`. It confirms objects that the client claims to `have`. It also resolves hidden refs (`deepen-not`).
So requests are checked here before git receives them.
"""

import asyncio
import contextlib
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import pygit2
import structlog
from pygit2.enums import ObjectType

from ingot_git.history.reachability import outside
from ingot_git.history.visible_objects import missing_from_history, outside_newest_tree
from ingot_git.process.command import MIB
from ingot_git.process.configuration import HIDDEN_REFS
from ingot_git.process.errors import BodyRefused, GitError, GitFailed, GitTimedOut, OutputTooLarge
from ingot_git.protocol.smart_http import FLUSH, pkt_line
from ingot_git.refs.ref_files import SYMBOLIC, raw_refs
from ingot_git.storage.read_cache import ReadCache, SharedCache
from ingot_git.storage.storage import Storage

log = structlog.get_logger()

BUNDLE_URI = b"bundle-uri"
COMMANDS = (b"ls-refs", b"fetch", BUNDLE_URI)
"""The supported commands of protocol 2. Others are refused: `object-info` discloses every object."""
DONE = (b"0008done", b"0009done\n")
"""End of a request in protocol 0: git reads no further."""
ENDS_OF_HAVES = (FLUSH, *DONE)
"""Lines after which a client in a session of protocol 0 waits for an answer."""
MOST_HAVES = 1000
"""Only this number of haves per request is checked; unknown objects cost most."""
LONG_REQUEST = 2 * MIB
"""Bytes: enough for about 40,000 refs. A parsed request needs several times as much memory."""
LONG_REQUEST_SECONDS = 120.0
"""Limit for receiving the rest of a long request, since other requests wait for its slot."""
_MAX_REQUEST = 16 * MIB
_HEADER = 4
_COMMAND = b"command="
# git reads 40 digits and ignores the rest.
_NAMED = re.compile(rb"(want|shallow|have) ([0-9a-fA-F]{40})")
_NO_OBJECT = b"0" * 40
_HIDDEN_REFS = tuple(prefix.encode() for prefix in HIDDEN_REFS)
_DEEPEN_NOT = re.compile(
    rb"deepen-not ((?:refs/)?(?:%b).*)" % b"|".join(name.removeprefix(b"refs/") for name in _HIDDEN_REFS),
    re.DOTALL,
)
_FETCHED = (ObjectType.COMMIT, ObjectType.BLOB, ObjectType.TREE)


class WantRefused(GitError):
    """The client wants an object that no visible ref reaches. `packet` has git's message for it."""

    def __init__(self, oid: str) -> None:
        super().__init__(f"not our ref {oid}")
        self.packet = pkt_line(f"ERR upload-pack: not our ref {oid}".encode())


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """The packets of a request, usually up to a flush, and the objects that they name."""

    text: bytes
    wants: frozenset[str] = frozenset()
    shallow: frozenset[str] = frozenset()
    """The commits at which the client's history is cut off."""
    haves: tuple[str, ...] = ()
    """The other objects that the client has, up to `MOST_HAVES`."""
    has_more_haves: bool = False

    def lines(self) -> Iterator[bytes]:
        """Yield the complete packets of the request, including their headers."""
        position = 0
        while (line := _line(self.text, position)) is not None:
            position += len(line)
            yield line

    @property
    def command(self) -> bytes | None:
        """Return the command of a protocol 2 request. Capabilities may precede or follow it."""
        for line in self.lines():
            if len(line) <= _HEADER:
                break
            if line.startswith(_COMMAND, _HEADER):
                return line[_HEADER + len(_COMMAND) :].rstrip(b"\n")
        return None

    @property
    def is_last(self) -> bool:
        """True if this is the last request of a session in protocol 0."""
        return self.text.endswith(DONE)

    def in_version_0(self) -> "FetchRequest":
        """Return the request without its wants. In protocol 0 git itself compares the wants with the refs."""
        return replace(self, wants=frozenset())

    def require_command(self) -> None:
        """Raise BodyRefused for a command that is not in `COMMANDS`. A single flush is allowed."""
        if self.text not in (b"", FLUSH) and self.command not in COMMANDS:
            raise BodyRefused("not a command of this server")

    def without(self, oids: set[str]) -> bytes:
        """Return the packets of the request without these objects and without hidden refs.

        In protocol 2 git treats a request without `have` like a request of an empty client. So each removed
        `have` is replaced by an id that does not exist. In protocol 0 git might acknowledge this id, and the
        client would fail.
        """
        if not (oids or self.has_more_haves) and b"deepen-not " not in self.text:
            return self.text
        is_v2, lines, position = self.command is not None, bytearray(), 0
        listed = {*self.wants, *self.shallow, *self.haves} if self.has_more_haves else None

        def stays(oid: str) -> bool:
            return oid not in oids and (listed is None or oid in listed)

        for line in self.lines():
            position += len(line)
            match = _NAMED.match(line, _HEADER)
            if match and match[1] != b"want" and not stays(match[2].decode().lower()):
                if is_v2 and match[1] == b"have":
                    lines += line.replace(match[2], _NO_OBJECT, 1)
            elif hidden := _DEEPEN_NOT.match(line, _HEADER):
                lines += pkt_line(b"deepen-not heads/" + hidden[1])  # a branch may have this name
            else:
                lines += line
        return bytes(lines) + self.text[position:]


class RequestReader:
    """Reads the requests in a body, one after the other."""

    def __init__(
        self,
        body: AsyncIterator[bytes],
        long_slot: Callable[[], AbstractAsyncContextManager[object]] = contextlib.nullcontext,
    ) -> None:
        """Read requests from ``body``. A request longer than ``LONG_REQUEST`` bytes enters ``long_slot``.

        `release` leaves the slot.
        """
        self._body, self._buffer = aiter(body), bytearray()
        self._coming: asyncio.Future[bytes | None] | None = None
        self._long_slot, self._slot = long_slot, contextlib.AsyncExitStack()
        self._ends: float | None = None
        """The deadline of a request that has the slot, by the clock of the loop."""

    async def release(self) -> None:
        """Release the slot. Call this when git has received the last request, and no copy is in memory."""
        self._ends = None
        await self._slot.aclose()

    async def skip_rest(self) -> None:
        """Read and discard the rest of the body, so a disconnect of the client is noticed."""
        self._buffer.clear()
        while await self._next_chunk() is not None:
            pass

    async def read_on(self) -> None:
        """Read ahead while the client waits for its response, so a disconnect is noticed. May be cancelled.

        git clients send nothing at this time. Reading stops at the size of a long request.
        """
        while len(self._buffer) <= LONG_REQUEST and (chunk := await self._next_chunk()) is not None:
            self._buffer += chunk

    async def close(self) -> None:
        """Release the slot and stop reading."""
        await self.release()
        if self._coming is not None:
            self._coming.cancel()
            await asyncio.gather(self._coming, return_exceptions=True)

    async def next(self, ends: Collection[bytes] = (FLUSH,)) -> FetchRequest | None:
        """Return the packets up to the first packet of ``ends`` or the end of the body; None without packets.

        Raises:
            BodyRefused: the body is not in packets, a request exceeds 16 MiB, or a long request is too slow.
        """
        position, named = 0, _ObjectNames()
        while True:
            while (line := _line(self._buffer, position)) is not None:
                position += len(line)
                if match := _NAMED.match(line, _HEADER):
                    named.add(match[1], match[2].decode().lower())
                if line in ends:
                    return self._take(position, named)
            if len(self._buffer) > _MAX_REQUEST:
                raise BodyRefused("the request is too long")
            try:
                async with asyncio.timeout_at(self._ends):
                    chunk = await self._next_chunk()
            except TimeoutError:
                raise BodyRefused("the request took too long") from None
            if chunk is None:
                return self._take(len(self._buffer), named) if self._buffer else None
            self._buffer += chunk
            if len(self._buffer) > LONG_REQUEST and self._ends is None:
                await self._slot.enter_async_context(self._long_slot())
                self._ends = asyncio.get_running_loop().time() + LONG_REQUEST_SECONDS

    async def _next_chunk(self) -> bytes | None:
        """Return the next chunk of the body; None at its end.

        If this is cancelled, the next call returns the chunk.
        """
        if self._coming is None:
            self._coming = asyncio.ensure_future(anext(self._body, None))
        chunk = await asyncio.shield(self._coming)
        self._coming = None
        return chunk

    def _take(self, end: int, named: "_ObjectNames") -> FetchRequest:
        text = bytes(self._buffer[:end])
        del self._buffer[:end]
        haves = tuple(oid for oid in named.haves if oid not in named.shallow)
        return FetchRequest(
            text, frozenset(named.wants), frozenset(named.shallow), haves, named.has_more_haves
        )


class _ObjectNames:
    """The objects that a request names."""

    def __init__(self) -> None:
        self.wants, self.shallow, self.haves = set[str](), set[str](), dict[str, None]()
        self.has_more_haves = False

    def add(self, kind: bytes, oid: str) -> None:
        if kind == b"want":
            self.wants.add(oid)
        elif kind == b"shallow":
            self.shallow.add(oid)
        elif oid in self.haves or len(self.haves) < MOST_HAVES:
            self.haves[oid] = None
        else:
            self.has_more_haves = True


def _line(buffer: bytes | bytearray, position: int) -> bytes | None:
    """Return the packet at `position` with its header; None while it is incomplete. Raises BodyRefused."""
    header = bytes(buffer[position : position + _HEADER])
    if len(header) < _HEADER:
        return None
    if re.fullmatch(rb"[0-9a-fA-F]{4}", header) is None or (length := int(header, 16)) == 3:
        raise BodyRefused("not a pkt-line")
    line = bytes(buffer[position : position + max(length, _HEADER)])
    return line if len(line) >= length else None


async def visible_part(
    storage: Storage,
    repo_id: int,
    branch: str,
    request: FetchRequest,
    caches: ReadCache,
    *,
    max_memory: int | None = None,
) -> bytes:
    """Return the packets of a request without `shallow` and `have` lines for hidden commits.

    A commit is hidden if no visible ref reaches it. Tips of refs are found immediately, other commits with a
    walk of git. Files and folders are searched in the latest tree of `branch`, the default branch, then in
    the history. ``max_memory``: see `spawn`.

    Raises:
        WantRefused: no visible ref reaches a wanted object, or the search for it timed out.
    """
    path, haves = storage.path(repo_id), request.haves
    named = request.wants | request.shallow
    if not named and not haves:
        return request.without(set())
    kinds, tips = await storage.call(repo_id, _not_advertised, named.union(haves))
    wants = request.wants.intersection(kinds)
    _refuse({oid for oid in wants if kinds[oid] not in _FETCHED})
    commits = {oid for oid, kind in kinds.items() if kind == ObjectType.COMMIT}

    async def find_commits(oids: set[str]) -> set[str]:
        try:
            return await outside(path, oids, tips, max_memory=max_memory)
        except (GitFailed, OutputTooLarge):  # hidden history may be incomplete or very long
            return await missing_from_history(path, oids, tips=tips, max_memory=max_memory)

    async def find_others(oids: set[str]) -> set[str]:
        try:
            return await missing_from_history(path, oids, tips=tips, max_memory=max_memory)
        except GitTimedOut:
            log.warning("history too long to find an object in it", repository=repo_id)
            _refuse(oids)
            raise

    hidden = await _hidden(commits & named, tips, caches.hidden_objects, find_commits)
    _refuse(wants & hidden)
    if others := wants - commits:
        older = await storage.call(repo_id, outside_newest_tree, branch, others, caches.tree_objects)
        _refuse(await _hidden(older, tips, caches.hidden_objects, find_others))
    try:
        hidden |= await _hidden(commits - named, tips, caches.hidden_objects, find_commits)
    except (GitFailed, GitTimedOut):
        hidden |= commits - named
    foreign = hidden.union(kinds.keys() - commits)
    return await asyncio.to_thread(request.without, foreign)


def _refuse(oids: Collection[str]) -> None:
    if oids:
        raise WantRefused(next(iter(oids)))


async def _hidden(
    oids: Collection[str],
    tips: Collection[str],
    cache: SharedCache[bool],
    find: Callable[[set[str]], Awaitable[set[str]]],
) -> set[str]:
    """Return the objects that none of the tips reaches.

    Results are cached, because they never change for the same tips.
    """
    digest = hashlib.blake2b("".join(tips).encode(), digest_size=16).digest()
    verdicts = {oid: cache.get((oid, digest)) for oid in oids}
    if unseen := {oid for oid, verdict in verdicts.items() if verdict is None}:
        hidden = await find(unseen)
        for oid in unseen:
            verdicts[oid] = oid in hidden
            cache.put((oid, digest), oid in hidden)
    return {oid for oid, verdict in verdicts.items() if verdict}


def _not_advertised(
    repo: pygit2.Repository, wants: Collection[str]
) -> tuple[dict[str, ObjectType | None], list[str]]:
    """Return the types of wants that are not tips of refs, and all tips. A missing object has the type None.

    Both results are empty if all wants are tips.
    """
    left = set(wants)
    tips = []
    for name, target in raw_refs(Path(repo.path), "refs/"):
        if not name.startswith(_HIDDEN_REFS) and not target.startswith(SYMBOLIC):
            oid = target.decode()
            left.discard(oid)
            if not left:
                return {}, []
            tips.append(oid)
    return {oid: _kind(repo, pygit2.Oid(hex=oid)) for oid in left}, tips


def _kind(repo: pygit2.Repository, oid: pygit2.Oid) -> ObjectType | None:
    try:
        return ObjectType(repo.odb.read_header(oid)[0])
    except KeyError:
        return None
