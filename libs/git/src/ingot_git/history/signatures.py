"""The signatures of commits and tags, with the signed content."""

import re
from dataclasses import dataclass

import pygit2

_BEGIN = re.compile(rb"^-----BEGIN (PGP|SSH) SIGNATURE-----$", re.MULTILINE)
_LONGEST = 256 * 1024


@dataclass(frozen=True, slots=True)
class CommitSignature:
    """A signature. ``payload`` is the commit or tag without its signature."""

    signature: bytes
    payload: bytes


def commit_signatures(repo: pygit2.Repository, oids: list[str]) -> dict[str, CommitSignature]:
    """Return the signatures of signed commits by id. ``oids`` are full ids of commits."""
    signatures = {}
    for oid in oids:
        commit: object = repo.get(oid)
        if isinstance(commit, pygit2.Commit) and (signature := commit_signature(commit)) is not None:
            signatures[oid] = signature
    return signatures


def commit_signature(commit: pygit2.Commit) -> CommitSignature | None:
    """Return the signature of a commit; None if it is missing or too large."""
    signature, payload = commit.gpg_signature
    if signature and payload and len(signature) + len(payload) <= _LONGEST:
        return CommitSignature(signature, payload)
    return None


def tag_signature(raw: bytes) -> CommitSignature | None:
    """Return the signature of a tag object; None if it has no signature or is too large.

    The signature starts at the last line that can begin one.
    """
    starts = [match.start() for match in _BEGIN.finditer(raw)]
    if not starts or len(raw) > _LONGEST:
        return None
    return CommitSignature(raw[starts[-1] :], raw[: starts[-1]])
