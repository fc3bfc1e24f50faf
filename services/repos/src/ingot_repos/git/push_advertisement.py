"""What a client of a push hears first: the refs that it may name, and what git can do.

They are read here, because a push of one commit would start git twice otherwise. What git can do is learned from git.
"""

from pathlib import Path

import pygit2

from ingot_repos.git.errors import RepositoryDamaged, RepositorySuspect
from ingot_repos.git.ref_files import SYMBOLIC, raw_refs
from ingot_repos.git.refs import BRANCHES, TAGS, ZERO_OID
from ingot_repos.git.smart_http import accepted_protocol, advertise, pkt_line
from ingot_repos.git.storage import Storage

_PUSHABLE = (BRANCHES, TAGS, "refs/notes/")
"""The refs that `configuration.CONFIG` does not hide from a push."""
_SERVICE = b"001f# service=git-receive-pack\n0000"
_FLUSH = b"0000"
_HEADER = 4

_learned: list[bytes] = []
"""The capabilities of receive-pack, once git has said them: they are the same for every repository."""


async def advertise_for_push(
    storage: Storage,
    repo_id: int,
    git_protocol: str | None,
    *,
    is_session: bool = False,
    max_memory: int | None = None,
) -> bytes:
    """As `smart_http.advertise` for git-receive-pack, with the same arguments and errors."""
    path = storage.path(repo_id)
    is_plain = accepted_protocol("git-receive-pack", git_protocol) is None and not (path / "shallow").exists()
    if _learned and is_plain:
        try:
            return await storage.call(repo_id, _advertisement, b"" if is_session else _SERVICE)
        except (RepositoryDamaged, RepositorySuspect):
            pass  # git can say more of it
    answer = await advertise(
        path, "git-receive-pack", git_protocol, is_session=is_session, max_memory=max_memory
    )
    if is_plain and not _learned:
        _learned.append(_capabilities(answer if is_session else answer.removeprefix(_SERVICE)))
    return answer


def _advertisement(repo: pygit2.Repository, head: bytes) -> bytes:
    """``head``, and gitprotocol-pack(5), "Reference Discovery": of a symbolic ref what it leads to."""
    answer = bytearray(head)
    capabilities = b"\0" + _learned[0]
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
    """The id to which a symbolic ref leads; nothing if it leads nowhere."""
    try:
        return str(repo.references[name.decode()].resolve().raw_target).encode()
    except (KeyError, ValueError):  # it has no end, or names that are not UTF-8
        return b""


def _capabilities(answer: bytes) -> bytes:
    """Those in the first line of an answer of git's."""
    line = answer[_HEADER : int(answer[:_HEADER], 16)]
    return line.partition(b"\0")[2].removesuffix(b"\n")
