"""What a client of a push hears first: the refs that it may name, and what git can do.

They are read here, because a push of one commit would start git twice otherwise. What git can do is learned from git.
"""

import pygit2

from ingot_repos.git.errors import RepositoryDamaged, RepositorySuspect
from ingot_repos.git.refs import ZERO_OID
from ingot_repos.git.smart_http import accepted_protocol, advertise, pkt_line
from ingot_repos.git.storage import Storage

_PUSHABLE = (b"refs/heads/", b"refs/tags/", b"refs/notes/")
"""The refs that `configuration.CONFIG` does not hide from a push."""
_SERVICE = b"001f# service=git-receive-pack\n0000"
_FLUSH = b"0000"
_HEADER = 4

_learned: list[bytes] = []
"""The capabilities of receive-pack, once git has said them: they are the same for every repository."""


async def advertise_for_push(
    storage: Storage, repo_id: int, git_protocol: str | None, *, is_session: bool = False
) -> bytes:
    """As `smart_http.advertise` for git-receive-pack, with the same arguments and errors."""
    path = storage.path(repo_id)
    is_plain = accepted_protocol("git-receive-pack", git_protocol) is None and not (path / "shallow").exists()
    if _learned and is_plain:
        try:
            refs = await storage.call(repo_id, _pushable_refs)
            return (b"" if is_session else _SERVICE) + _advertisement(refs, _learned[0])
        except (RepositoryDamaged, RepositorySuspect):
            pass  # git can say more of it
    answer = await advertise(path, "git-receive-pack", git_protocol, is_session=is_session)
    if is_plain and not _learned:
        _learned.append(_capabilities(answer if is_session else answer.removeprefix(_SERVICE)))
    return answer


def _pushable_refs(repo: pygit2.Repository) -> list[tuple[bytes, str]]:
    """Names and ids, by name, as git lists them: of a symbolic ref what it leads to."""
    refs = []
    for ref in repo.references.iterator():
        name = ref.raw_name
        if not name.startswith(_PUSHABLE):
            continue
        target = ref.raw_target
        if not isinstance(target, pygit2.Oid):
            try:
                target = ref.resolve().raw_target
            except KeyError:
                continue
        refs.append((name, str(target)))
    return sorted(refs)


def _advertisement(refs: list[tuple[bytes, str]], capabilities: bytes) -> bytes:
    """gitprotocol-pack(5), "Reference Discovery"."""
    lines = [b"%b %b" % (oid.encode(), name) for name, oid in refs] or [
        ZERO_OID.encode() + b" capabilities^{}"
    ]
    lines[0] += b"\0" + capabilities
    return b"".join([*(pkt_line(line + b"\n") for line in lines), _FLUSH])


def _capabilities(answer: bytes) -> bytes:
    """Those in the first line of an answer of git's."""
    line = answer[_HEADER : int(answer[:_HEADER], 16)]
    return line.partition(b"\0")[2].removesuffix(b"\n")
