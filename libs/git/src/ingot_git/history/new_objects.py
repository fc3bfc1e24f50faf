"""Writes commits and tags that the server creates, and signs them if it has a key.

The server is the committer of a signed commit, because the key is the server's. The author does not change.
The tagger of a tag does not change either: it is the account that requested the tag.
"""

from collections.abc import Sequence
from typing import Protocol

import pygit2
from pygit2.enums import ObjectType

from ingot_git.history.commits import Person, signature
from ingot_git.process.cpu_time import CpuBudget
from ingot_git.process.disk import writing


class Signer(Protocol):
    """A signing key of the server, with the name and address of the committer of signed commits."""

    @property
    def name(self) -> str: ...
    @property
    def email(self) -> str: ...

    def sign(self, payload: bytes, budget: CpuBudget | None = None) -> bytes:
        """Return the armored signature of ``payload``. Blocks. Raises SigningFailed.

        ``budget`` is charged for the CPU time of processes.
        """


def create_commit(
    repo: pygit2.Repository,
    *,
    author: Person,
    committer: Person,
    message: str,
    tree: str | pygit2.Oid,
    parents: Sequence[str | pygit2.Oid],
    signer: Signer | None,
    budget: CpuBudget | None = None,
) -> str:
    """Write a commit and return its id. No ref moves. Raises SigningFailed.

    ``budget`` is charged for the CPU time of the signer's processes.
    """
    if signer is None:
        with writing():
            who = signature(author), signature(committer)
            return str(repo.create_commit(None, *who, message, tree, list(parents)))
    who = signature(author), signature(Person(signer.name, signer.email, committer.when))
    text = str(repo.create_commit_string(*who, message, tree, list(parents)))
    signed = signer.sign(text.encode(), budget).decode("ascii")
    with writing():
        return str(repo.create_commit_with_signature(text, signed.rstrip("\n")))


def create_tag(
    repo: pygit2.Repository, name: str, commit: str, message: str, tagger: Person, signer: Signer | None
) -> str:
    """Write a tag object for a commit (full id) and return its id. No ref moves. Raises SigningFailed."""
    who = signature(tagger)
    sign = "-" if who.offset < 0 else "+"
    zone = f"{sign}{abs(who.offset) // 60:02}{abs(who.offset) % 60:02}"
    head = f"object {commit}\ntype commit\ntag {name}\n"
    text = f"{head}tagger {who.name} <{who.email}> {who.time} {zone}\n\n{message}\n".encode()
    if signer is not None:
        text += signer.sign(text)
    with writing():
        return str(repo.odb.write(ObjectType.TAG, text))
