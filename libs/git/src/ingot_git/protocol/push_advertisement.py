"""The advertisement for a push: the refs that a client may name, and the capabilities of git.

This module reads the refs itself, because otherwise a push of one commit would start git twice. The
capabilities come from git, and are cached.
"""

from pathlib import Path

import pygit2

from ingot_git.process.errors import RepositoryDamaged, RepositorySuspect
from ingot_git.protocol.smart_http import accepted_protocol, advertise, pkt_line
from ingot_git.refs.ref_files import SYMBOLIC, raw_refs
from ingot_git.refs.refs import BRANCHES, TAGS, ZERO_OID
from ingot_git.storage.storage import Storage

_PUSHABLE = (BRANCHES, TAGS, "refs/notes/")
"""The refs that `configuration.CONFIG` does not hide from pushes."""
_SERVICE = b"001f# service=git-receive-pack\n0000"
_FLUSH = b"0000"
_HEADER = 4

_cached_capabilities: list[bytes] = []
"""The capabilities of receive-pack as git reports them. They are equal for all repositories."""


async def advertise_for_push(
    storage: Storage,
    repo_id: int,
    git_protocol: str | None,
    *,
    is_session: bool = False,
    max_memory: int | None = None,
) -> bytes:
    """Return the advertisement for git-receive-pack. For arguments and errors see `smart_http.advertise`."""
    path = storage.path(repo_id)
    is_plain = accepted_protocol("git-receive-pack", git_protocol) is None and not (path / "shallow").exists()
    if _cached_capabilities and is_plain:
        try:
            return await storage.call(repo_id, _advertisement, b"" if is_session else _SERVICE)
        except (RepositoryDamaged, RepositorySuspect):
            pass  # git reports more details
    answer = await advertise(
        path, "git-receive-pack", git_protocol, is_session=is_session, max_memory=max_memory
    )
    if is_plain and not _cached_capabilities:
        _cached_capabilities.append(_capabilities(answer if is_session else answer.removeprefix(_SERVICE)))
    return answer


def _advertisement(repo: pygit2.Repository, head: bytes) -> bytes:
    """Return ``head`` and the advertised refs with their ids (gitprotocol-pack(5), "Reference Discovery")."""
    answer = bytearray(head)
    capabilities = b"\0" + _cached_capabilities[0]
    for name, target in raw_refs(Path(repo.path), *_PUSHABLE):
        oid = _resolved(repo, name) if target.startswith(SYMBOLIC) else target
        if oid:
            answer += pkt_line(b"%b %b%b\n" % (oid, name, capabilities))
            capabilities = b""
    if capabilities:
        answer += pkt_line(b"%b capabilities^{}%b\n" % (ZERO_OID.encode(), capabilities))
    answer += _FLUSH
    return bytes(answer)


def _resolved(repo: pygit2.Repository, name: bytes) -> bytes:
    """Return the id that a symbolic ref resolves to; empty if it is dangling or its names are not UTF-8."""
    try:
        return str(repo.references[name.decode()].resolve().raw_target).encode()
    except (KeyError, ValueError):  # it is dangling, or has names that are not UTF-8
        return b""


def _capabilities(answer: bytes) -> bytes:
    """Return the capabilities in the first line of git's advertisement."""
    line = answer[_HEADER : int(answer[:_HEADER], 16)]
    return line.partition(b"\0")[2].removesuffix(b"\n")
