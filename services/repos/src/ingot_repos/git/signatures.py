"""The signature of a commit, as text, with what it was made of."""

from dataclasses import dataclass

import pygit2

_LONGEST = 256 * 1024


@dataclass(frozen=True, slots=True)
class CommitSignature:
    """``payload`` is the commit without its signature."""

    signature: str
    payload: str


def commit_signatures(repo: pygit2.Repository, oids: list[str]) -> dict[str, CommitSignature]:
    """The signatures of those of the commits (full ids) that are signed."""
    signatures = {}
    for oid in oids:
        commit: object = repo.get(oid)
        if not isinstance(commit, pygit2.Commit):
            continue
        signature, payload = commit.gpg_signature
        if signature and payload and len(signature) + len(payload) <= _LONGEST:
            signatures[oid] = CommitSignature(
                signature.decode("utf-8", "replace"), payload.decode("utf-8", "replace")
            )
    return signatures
