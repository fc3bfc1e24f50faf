"""What a fetch may name: only what a visible ref leads to.

In protocol 0 git itself refuses to give other objects. In protocol 2 it gives whatever the repository has
(gitprotocol-v2(5), `want`), also of deleted branches; and in both it gives the parents of any commit at which the client
says that its history is cut off (`shallow`), shows by its answer whether it has what the client says to have (`have`),
and resolves hidden refs (`deepen-not`). So the requests are read here before git gets them.
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

from ingot_repos.git.command import MIB, GitArgs, git_async
from ingot_repos.git.configuration import HIDDEN_REFS
from ingot_repos.git.errors import BodyRefused, GitError, GitFailed, GitTimedOut, OutputTooLarge
from ingot_repos.git.read_cache import ReadCache, SharedCache
from ingot_repos.git.ref_files import SYMBOLIC, raw_refs
from ingot_repos.git.smart_http import FLUSH, pkt_line
from ingot_repos.git.storage import Storage
from ingot_repos.git.visible_objects import missing_from_history, outside_newest_tree

log = structlog.get_logger()

BUNDLE_URI = b"bundle-uri"
COMMANDS = (b"ls-refs", b"fetch", BUNDLE_URI)
"""Of protocol 2. git has others: `object-info` tells of every object."""
DONE = (b"0008done", b"0009done\n")
"""With it a request of protocol 0 ends: git reads no further."""
ENDS_OF_HAVES = (FLUSH, *DONE)
"""What the client of a session of protocol 0 waits for an answer behind."""
MOST_HAVES = 1000
"""So many are looked at in a request, the first ones; those that are not there cost most."""
LONG_REQUEST = 2 * MIB
"""Bytes; so many name some 40,000 refs. What is read of a request takes several times as much memory."""
LONG_REQUEST_SECONDS = 120.0
"""In which the rest of a long one must come: others wait for its slot."""
_MAX_REQUEST = 16 * MIB
_HEADER = 4
_COMMAND = b"command="
# git reads 40 digits, whatever follows.
_NAMED = re.compile(rb"(want|shallow|have) ([0-9a-fA-F]{40})")
_NO_OBJECT = b"0" * 40
_HIDDEN_REFS = tuple(prefix.encode() for prefix in HIDDEN_REFS)
_DEEPEN_NOT = re.compile(
    rb"deepen-not ((?:refs/)?(?:%b).*)" % b"|".join(name.removeprefix(b"refs/") for name in _HIDDEN_REFS),
    re.DOTALL,
)
_FETCHED = (ObjectType.COMMIT, ObjectType.BLOB, ObjectType.TREE)


class WantRefused(GitError):
    """No visible ref leads to an object that the client wants. `packet` tells it so, in the words of git."""

    def __init__(self, oid: str) -> None:
        super().__init__(f"not our ref {oid}")
        self.packet = pkt_line(f"ERR upload-pack: not our ref {oid}".encode())


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """Packets, mostly up to a flush, and which objects they name."""

    text: bytes
    wants: frozenset[str] = frozenset()
    shallow: frozenset[str] = frozenset()
    """Where the client says that its history is cut off."""
    haves: tuple[str, ...] = ()
    """What else the client says that it has: the first of these objects."""
    has_more_haves: bool = False

    def lines(self) -> Iterator[bytes]:
        """The packets with their headers, as far as they are whole."""
        position = 0
        while (line := _line(self.text, position)) is not None:
            position += len(line)
            yield line

    @property
    def command(self) -> bytes | None:
        """What a request of protocol 2 is for. Its capabilities stand before the command or behind it, its arguments behind both."""
        for line in self.lines():
            if len(line) <= _HEADER:
                break
            if line.startswith(_COMMAND, _HEADER):
                return line[_HEADER + len(_COMMAND) :].rstrip(b"\n")
        return None

    @property
    def is_last(self) -> bool:
        """Whether it is the last one of a session of protocol 0."""
        return self.text.endswith(DONE)

    def in_version_0(self) -> "FetchRequest":
        """The same without the wants, which git itself compares with the refs."""
        return replace(self, wants=frozenset())

    def require_command(self) -> None:
        """Raise BodyRefused when it is for something else than `COMMANDS`; a flush alone is for nothing."""
        if self.text not in (b"", FLUSH) and self.command not in COMMANDS:
            raise BodyRefused("not a command of this server")

    def without(self, oids: set[str]) -> bytes:
        """Its packets as they would be if the client had not got these objects and had not heard of hidden refs.

        git of protocol 2 takes a request that has no `have` for one of a client that has nothing, so there is one that
        nobody has; in protocol 0 git may acknowledge that, which the client would not understand.
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
                lines += pkt_line(b"deepen-not heads/" + hidden[1])  # a branch may be called so
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
        """``long_slot`` is entered while a request is read that is longer than ``LONG_REQUEST``, and left by ``release``."""
        self._body, self._buffer = aiter(body), bytearray()
        self._coming: asyncio.Future[bytes | None] | None = None
        self._long_slot, self._slot = long_slot, contextlib.AsyncExitStack()
        self._ends: float | None = None
        """While it has the slot: when the request must be there, by the clock of the loop."""

    async def release(self) -> None:
        """Call it when git has what was read last, and nobody else has it any more."""
        self._ends = None
        await self._slot.aclose()

    async def skip_rest(self) -> None:
        """Read what nobody needs, so that a client that goes away is noticed."""
        self._buffer.clear()
        while await self._next_chunk() is not None:
            pass

    async def read_on(self) -> None:
        """Read what the client says before it has its answer, so that one that goes away is noticed. It may be cancelled.

        Clients of git say nothing then. Of one that says as much as a long request has, no more is read.
        """
        while len(self._buffer) <= LONG_REQUEST and (chunk := await self._next_chunk()) is not None:
            self._buffer += chunk

    async def close(self) -> None:
        """Call it when nobody reads any more."""
        await self.release()
        if self._coming is not None:
            self._coming.cancel()
            await asyncio.gather(self._coming, return_exceptions=True)

    async def next(self, ends: Collection[bytes] = (FLUSH,)) -> FetchRequest | None:
        """The packets up to the next one of ``ends``, or up to the end of the body; None when there are none.

        Raises:
            BodyRefused: the body has no packets, or a request is longer than 16 MiB, or a long one does not end in time.
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
        """What comes next of the body; None at its end. If this is cancelled, the next call returns it."""
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
    """The packet at `position`, its header included; None while it is incomplete."""
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
    """The packets of a request, without those that say `shallow` or `have` of what is no commit of a visible ref.

    Tips of refs are found at once, commits by a walk of git, files and folders in the newest tree of `branch`, the
    default branch, else by a walk through the history. ``max_memory``: see `spawn`.

    Raises:
        WantRefused: it wants an object to which no visible ref leads, or to which none was found in time.
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
            return await _unreachable(path, oids, tips, max_memory)
        except (GitFailed, OutputTooLarge):  # what nobody sees may have holes, or be very long
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
    """Those of the objects to which none of the tips leads. Of an object and these tips that never changes."""
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
    """The kinds of those wants that are no tip, None for what is not there; and, if there are any, all tips."""
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


async def _unreachable(
    path: Path, commits: Collection[str], tips: Collection[str], max_memory: int | None
) -> set[str]:
    """Those of the commits that are in the history of none of the tips. git-upload-pack(1) asks the same."""
    lines = [*commits, *(f"^{tip}" for tip in tips)]
    output = await git_async(
        GitArgs("rev-list", ("--stdin",)),
        git_dir=path,
        stdin="\n".join(lines).encode(),
        max_memory=max_memory,
    )
    return set(commits).intersection(output.decode().split())
