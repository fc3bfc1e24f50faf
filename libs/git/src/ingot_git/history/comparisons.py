"""Compares two refs: the commits between them, and their merge base."""

from dataclasses import dataclass

import pygit2

from ingot_git.history.commits import Clip, CommitInfo
from ingot_git.history.compare import history
from ingot_git.history.named_refs import named_ref
from ingot_git.history.reachability import merge_base
from ingot_git.history.signatures import CommitSignature, commit_signatures
from ingot_git.storage.read_cache import SharedCache


@dataclass(frozen=True, slots=True)
class RefComparison:
    """The commits of a head that are not in its base, latest first; ``total`` counts all.

    ``merge_base`` is empty for histories without a common commit. ``signatures`` has the signatures of signed
    commits by id.
    """

    base: str
    head: str
    merge_base: str
    commits: tuple[CommitInfo, ...]
    signatures: dict[str, CommitSignature]
    total: int


def compare_refs(
    repo: pygit2.Repository,
    head: str,
    *,
    base: str,
    offset: int,
    limit: int,
    cache: SharedCache[RefComparison],
    clip: Clip,
    head_is_commit: bool = False,
) -> RefComparison:
    """Compare a ref with ``base``, each a branch, a tag or a commit. Cache the result, clipped.

    ``head_is_commit``: the head is the full id of a commit of another repository
    (`heads.with_borrowed_head`). No ref of this repository needs to reach it.

    Raises:
        RefNotFound: one of the refs does not exist.
    """
    base_commit = named_ref(repo, base).commit
    head_commit = head if head_is_commit else named_ref(repo, head).commit
    key = (base_commit, head_commit, offset, limit)
    remembered = cache.get(key)
    if remembered is not None:
        return remembered
    commits, total = history(repo, base_commit, head_commit, offset=offset, limit=limit, clip=clip)
    compared = RefComparison(
        base=base_commit,
        head=head_commit,
        merge_base=merge_base(repo, base_commit, head_commit) or "",
        commits=tuple(commits),
        signatures=commit_signatures(repo, [info.oid for info in commits]),
        total=total,
    )
    texts = sum(len(info.message) for info in commits)
    texts += sum(len(one.signature) + len(one.payload) for one in compared.signatures.values())
    cache.put(key, compared, size=1 + len(commits) + texts // 1000)
    return compared
