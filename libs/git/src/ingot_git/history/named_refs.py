"""Resolves names in requests to a branch, tag, commit or other object that a visible ref reaches.

Names are resolved as in git (gitrevisions(7)), with three differences. A branch wins over a tag of the same
name. Both win over `heads/` and `tags/`, because the API uses short names. Operators such as `~` are not
supported. Hidden objects are not found.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Literal

import pygit2
from pygit2.enums import ObjectType

from ingot_git.history.objects import VISIBLE_REFS, is_reachable
from ingot_git.history.tags import is_tagged
from ingot_git.process.command import GitArgs, run_git
from ingot_git.process.configuration import CLOSED_PULLS
from ingot_git.process.errors import RefNotFound
from ingot_git.refs.pull_heads import PULLS
from ingot_git.refs.refs import (
    BRANCHES,
    TAGS,
    default_branch,
    is_full_id,
    is_object_id,
    is_valid_ref_name,
    target_of_ref,
)
from ingot_git.refs.tag_targets import commit_of, target_of

_ID_SECONDS = 5.0
_MOST_CANDIDATES = 16
"""Commits of an abbreviated id whose reachability is checked. More are ambiguous."""
_SHORT_ID = re.compile("[0-9a-f]{4,39}")


@dataclass(frozen=True, slots=True)
class ResolvedName:
    """A resolved branch, tag or commit.

    Args:
        kind: branch, tag or commit.
        name: short name, or the full id for a commit.
        ref: full ref name; None for a commit that was named by its id.
        commit: full commit id; for an annotated tag the id of its commit.
    """

    kind: Literal["branch", "tag", "commit"]
    name: str
    ref: str | None
    commit: str


def named_ref(repo: pygit2.Repository, name: str) -> ResolvedName:
    """Resolve a name to a commit. A full id always means the object, even if a ref has this name.

    `HEAD` is the default branch. `refs/heads/x`, `heads/x` and `refs/pull/1/head` are supported, too.

    Raises:
        RefNotFound: the name does not exist, is not a commit, or no visible ref reaches it.
    """
    for ref, target in _refs_named(repo, name):
        commit = commit_of(repo, target)
        if commit is None:
            raise RefNotFound("the ref does not point to a commit")
        return _of_ref(ref, commit)
    return _named_by_id(repo, name)


def commit_of_id(repo: pygit2.Repository, oid: str) -> str:
    """Resolve an id, which may be abbreviated, to a commit. Refs are ignored. Raises RefNotFound."""
    return _named_by_id(repo, oid).commit


def named_root(repo: pygit2.Repository, name: str) -> tuple[str, str]:
    """Return the ids of the commit that a name refers to, and of its tree.

    For a tag of a tree, both are the id of the tree. Raises RefNotFound for any other object.
    """
    for _, target in _refs_named(repo, name):
        kind, oid = target_of(repo, target) or (None, "")
        if kind == ObjectType.TREE:
            return oid, oid
        break
    commit = named_ref(repo, name).commit
    return commit, str(repo[commit].peel(ObjectType.TREE).id)


def split_named_path(repo: pygit2.Repository, text: str) -> tuple[ResolvedName, str]:
    """Split `<ref>/<path>` and resolve the ref. Return the ref and the path, which may be empty.

    A first segment that is a full id is an object. Otherwise prefixes of segments are tried in this order:

    1. the first prefix that is a full ref name
    2. the first prefix that is a branch
    3. the first prefix that is a tag
    4. `HEAD` before a path

    If none matches, the whole text is a path on the default branch.

    Raises:
        RefNotFound: the commit id does not exist, or the default branch has no commit.
    """
    first, slash, path = text.partition("/")
    if is_full_id(first):
        return named_ref(repo, first), path
    prefixes = [prefix for prefix in accumulate(text.split("/"), "{}/{}".format) if is_valid_ref_name(prefix)]
    for namespace in ("", BRANCHES, TAGS):
        for prefix in prefixes:
            for ref, target in _refs_at(repo, namespace + prefix):
                if (commit := commit_of(repo, target)) is not None:
                    return _of_ref(ref, commit), text[len(prefix) + 1 :]
    if first == "HEAD" and slash:
        return named_ref(repo, first), path
    return named_ref(repo, "HEAD"), text


def _named_by_id(repo: pygit2.Repository, name: str) -> ResolvedName:
    commit = _commit_of_id(repo, name.lower())
    if commit is None or not is_reachable(repo, commit):
        raise RefNotFound("no such branch, tag or commit")
    return ResolvedName("commit", commit, None, commit)


def _refs_named(repo: pygit2.Repository, name: str) -> Iterator[tuple[str, str]]:
    """Yield full names and objects of the refs that a name may mean. The first ref wins."""
    if name == "HEAD":
        name = BRANCHES + default_branch(repo)
    if not is_full_id(name) and is_valid_ref_name(name):
        for namespace in ("", BRANCHES, TAGS, "refs/"):
            yield from _refs_at(repo, namespace + name)


def _refs_at(repo: pygit2.Repository, ref: str) -> Iterator[tuple[str, str]]:
    """Yield a visible ref with its object. For a closed pull request read the hidden ref of its head."""
    if ref.startswith(VISIBLE_REFS):
        for name in (ref, ref.replace(PULLS, CLOSED_PULLS, 1)) if ref.startswith(PULLS) else (ref,):
            if (target := target_of_ref(repo, name)) is not None:
                yield ref, target


def _of_ref(ref: str, commit: str) -> ResolvedName:
    if ref.startswith(BRANCHES):
        return ResolvedName("branch", ref.removeprefix(BRANCHES), ref, commit)
    if ref.startswith(TAGS):
        return ResolvedName("tag", ref.removeprefix(TAGS), ref, commit)
    return ResolvedName("commit", commit, ref, commit)


def _commit_of_id(repo: pygit2.Repository, oid: str) -> str | None:
    """Return the commit of an id, which may be abbreviated, or of a tag object that a tag reaches.

    Return None for any other id.
    """
    if _SHORT_ID.fullmatch(oid):
        try:
            oid = str(repo.expand_id(oid))
        except KeyError:
            return None
        except ValueError:
            oid = _only_commit(repo, oid)
    if not is_object_id(oid) or oid not in repo:
        return None
    commit = commit_of(repo, oid)
    return commit if commit == oid or is_tagged(repo, oid) else None


def _only_commit(repo: pygit2.Repository, short_id: str) -> str:
    """Return the id of the only commit, or tag of a commit, with an abbreviated id.

    Return an empty text if the id is ambiguous. Commits that no visible ref reaches, such as commits of a
    deleted branch, do not make an id ambiguous.
    """
    args = GitArgs("rev-parse", (f"--disambiguate={short_id}",))
    output = run_git(args, git_dir=Path(repo.path), time_limit=_ID_SECONDS).decode()
    commits = {oid: commit for oid in output.split() if (commit := commit_of(repo, oid)) is not None}
    if 1 < len(commits) <= _MOST_CANDIDATES:
        commits = {oid: commit for oid, commit in commits.items() if is_reachable(repo, commit)}
    return next(iter(commits)) if len(commits) == 1 else ""
