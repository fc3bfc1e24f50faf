"""What a fetch of protocol 2 asks for: only what a visible ref leads to.

In protocol 0 git itself refuses other objects. In protocol 2 it gives whatever the repository has (gitprotocol-v2(5),
`want`), also of deleted branches. So the requests are read here before git gets them.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from pathlib import Path

import pygit2
import structlog
from pygit2.enums import ObjectType

from ingot_repos.git.command import MIB, GitArgs, git_async
from ingot_repos.git.configuration import HIDDEN_REFS
from ingot_repos.git.errors import BodyRefused, GitError, GitTimedOut
from ingot_repos.git.read_cache import SharedCache
from ingot_repos.git.ref_files import SYMBOLIC, raw_refs
from ingot_repos.git.storage import Storage
from ingot_repos.git.visible_objects import missing_from_history, outside_newest_tree

log = structlog.get_logger()

FindHidden = Callable[[set[str]], Awaitable[str | None]]
_MAX_REQUEST = 16 * MIB
_HEADER = 4
_COMMAND = b"command="
_WANT = re.compile(rb"(?:want|oid) ([0-9a-fA-F]{40})")
"""Git reads no further than the id, so whatever comes behind it is no reason to let it pass. `oid` is of `object-info`."""
_HIDDEN_REFS = tuple(prefix.encode() for prefix in HIDDEN_REFS)


class WantRefused(GitError):
    """No visible ref leads to an object that the client wants. `packet` tells it so, in the words of git."""

    def __init__(self, oid: str) -> None:
        super().__init__(f"not our ref {oid}")
        line = f"ERR upload-pack: not our ref {oid}".encode()
        self.packet = b"%04x%b" % (len(line) + _HEADER, line)


async def checked(body: AsyncIterator[bytes], find_hidden: FindHidden) -> AsyncIterator[bytes]:
    """The body, request by request; each is held back until `find_hidden` has found nothing among its wants.

    Raises:
        WantRefused: it has found something.
        BodyRefused: the body has no packets, or a request is longer than 16 MiB.
    """
    buffer, position = bytearray(), 0
    wants: set[str] = set()
    async for chunk in body:
        buffer += chunk
        while (line := _line(buffer, position)) is not None:
            position += max(len(line), _HEADER)
            if match := _WANT.match(line, _HEADER):
                wants.add(match[1].decode().lower())
            if line == b"0000":
                yield await _checked(bytes(buffer[:position]), wants, find_hidden)
                del buffer[:position]
                position, wants = 0, set()
        if len(buffer) > _MAX_REQUEST:
            raise BodyRefused("the request is too long")
    if buffer:
        yield await _checked(bytes(buffer), wants, find_hidden)


async def _checked(request: bytes, wants: set[str], find_hidden: FindHidden) -> bytes:
    if wants and (hidden := await find_hidden(wants)):
        raise WantRefused(hidden)
    return request


def command_of(request: bytes) -> bytes | None:
    """What a request is for. Its capabilities stand before the command or behind it, its arguments behind both."""
    position = 0
    while (line := _line(request, position)) is not None and len(line) > _HEADER:
        if line.startswith(_COMMAND, _HEADER):
            return line[_HEADER + len(_COMMAND) :].rstrip(b"\n")
        position += len(line)
    return None


def _line(buffer: bytes | bytearray, position: int) -> bytes | None:
    """The packet at `position`, its header included; None while it is incomplete."""
    header = bytes(buffer[position : position + _HEADER])
    if len(header) < _HEADER:
        return None
    if re.fullmatch(rb"[0-9a-fA-F]{4}", header) is None or (length := int(header, 16)) == 3:
        raise BodyRefused("not a pkt-line")
    line = bytes(buffer[position : position + max(length, _HEADER)])
    return line if len(line) >= length else None


async def find_hidden(
    storage: Storage,
    repo_id: int,
    branch: str,
    wants: set[str],
    cache: SharedCache[frozenset[bytes]],
    *,
    max_memory: int | None = None,
) -> str | None:
    """One of `wants` to which no visible ref leads; None when there is no such one.

    Tips of refs are found at once, commits by a walk of git, files and folders in the newest tree of `branch`, the
    default branch, else by a walk through the history. What is not found in time counts as hidden. ``max_memory``: see
    `spawn`.
    """
    kinds, tips = await storage.call(repo_id, _not_advertised, wants)
    for oid, kind in kinds.items():
        if kind not in (ObjectType.COMMIT, ObjectType.BLOB, ObjectType.TREE):
            return oid
    commits = [oid for oid, kind in kinds.items() if kind == ObjectType.COMMIT]
    if commits and await _has_unreachable(storage.path(repo_id), commits, tips, max_memory):
        return commits[0]
    others = {oid for oid, kind in kinds.items() if kind != ObjectType.COMMIT}
    if others:
        others = await storage.call(repo_id, outside_newest_tree, branch, others, cache)
    if others:
        try:
            others = await missing_from_history(storage.path(repo_id), others, max_memory=max_memory)
        except GitTimedOut:
            log.warning("history too long to find an object in it", repository=repo_id)
    return next(iter(others), None)


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


async def _has_unreachable(path: Path, commits: list[str], tips: list[str], max_memory: int | None) -> bool:
    """Whether one of the commits is in the history of none of the tips. git-upload-pack(1) asks the same."""
    lines = [*commits, *(f"^{tip}" for tip in tips)]
    output = await git_async(
        GitArgs("rev-list", ("--max-count=1", "--stdin")),
        git_dir=path,
        stdin="\n".join(lines).encode(),
        max_memory=max_memory,
    )
    return bool(output)
