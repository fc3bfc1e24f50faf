"""Resolves tags to objects: mostly commits, but git can also tag trees, blobs and other tags."""

import pygit2
from pygit2.enums import ObjectType

from ingot_git.process.errors import RepositoryDamaged

DEEPEST = 32
"""The limit for nested tags. Deeper ones resolve to nothing: a list of them would take seconds."""


def target_of(repo: pygit2.Repository, oid: str) -> tuple[ObjectType, str] | None:
    """Return type and id of the object that a full id resolves to; None if tags are nested too deep.

    Raises RepositoryDamaged if one of the objects is missing or cannot be read.
    """
    for _ in range(DEEPEST + 1):
        try:
            kind = ObjectType(repo.odb.read_header(oid)[0])
            if kind != ObjectType.TAG:
                return kind, oid
            oid = next_object(repo, oid)
        except (KeyError, pygit2.GitError) as error:
            raise RepositoryDamaged("the object of a ref is missing") from error
    return None


def next_object(repo: pygit2.Repository, oid: str) -> str:
    """Return the id of the object that a tag (full id) points to. Raises KeyError, GitError."""
    tag: object = repo[oid]
    if not isinstance(tag, pygit2.Tag):
        raise KeyError(oid)
    return str(tag.target)


def commit_of(repo: pygit2.Repository, oid: str) -> str | None:
    """Return the commit that an id (full) resolves to; None for other objects. Raises RepositoryDamaged."""
    kind, target = target_of(repo, oid) or (None, "")
    return target if kind == ObjectType.COMMIT else None
