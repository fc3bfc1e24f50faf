"""Refs: listing them, resolving a name of a URL, and moving them safely.

Every change names the expected value of each ref and takes the same locks as a push at the same moment: libgit2 moves
a single ref, several are one `git update-ref --stdin` transaction (git-update-ref(1)).
"""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Literal

import pygit2
from pygit2.enums import ObjectType

from ingot_repos.git.command import GitArgs, clean_environment, run_git
from ingot_repos.git.configuration import UNFLUSHED_REFS
from ingot_repos.git.disk import FEW_REFS, flush
from ingot_repos.git.errors import GitFailed, InvalidName, RefMoved, RefNotFound, RepositoryDamaged
from ingot_repos.git.ref_files import SYMBOLIC, raw_refs
from ingot_repos.git.ref_locks import remove_old_locks

ZERO_OID = "0" * 40
BRANCHES = "refs/heads/"
TAGS = "refs/tags/"

_OBJECT_ID = re.compile(r"[0-9a-f]{40}")
_COMMIT_ID = re.compile(r"[0-9a-fA-F]{4,40}")
# git-check-ref-format(1), rules 3 to 10 but for those on single components.
_NEVER_IN_A_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")
_MAX_COMPONENT_BYTES = 250  # a file name of 255 with room for ".lock"
_MAX_NAME_BYTES = 1024


@dataclass(frozen=True, slots=True)
class RefChange:
    """A full ref name (`refs/…`) and its object ids; 40 zeros stand for "does not exist"."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch by its short name, and the id of its tip."""

    name: str
    oid: str


@dataclass(frozen=True, slots=True)
class ResolvedName:
    """The branch, tag or commit of a name.

    Args:
        kind: which of them it is.
        name: short name, or the full id for a commit.
        ref: full ref name; None for a commit.
        commit: full commit id; of an annotated tag, that of its commit.
    """

    kind: Literal["branch", "tag", "commit"]
    name: str
    ref: str | None
    commit: str


def is_object_id(text: str) -> bool:
    """Whether this is a full SHA-1 id in lower case."""
    return _OBJECT_ID.fullmatch(text) is not None


def is_valid_ref_name(name: str) -> bool:
    """Whether this may be the name of a branch or tag (git-check-ref-format(1) with `--branch`).

    It is stricter in three points: no `HEAD`, no lone `@`, and no name that is too long for a file.
    """
    if len(name) > _MAX_NAME_BYTES or name in ("", "HEAD", "@"):
        return False
    if name.startswith("-") or _NEVER_IN_A_REF.search(name):
        return False
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        return False
    return len(encoded) <= _MAX_NAME_BYTES and all(_is_valid_component(part) for part in encoded.split(b"/"))


def _is_valid_component(part: bytes) -> bool:
    return (
        0 < len(part) <= _MAX_COMPONENT_BYTES
        and not part.startswith(b".")
        and not part.endswith((b".lock", b"."))
    )


def list_refs(repo: pygit2.Repository, prefixes: Sequence[str] = ("refs/",)) -> dict[str, str]:
    """Full ref name -> object id (of the tag object for annotated tags), sorted by name.

    Symbolic refs are left out, and so are names that are not UTF-8: the API cannot represent them.
    """
    return dict(each_ref(repo, *prefixes))


def each_ref(repo: pygit2.Repository, *prefixes: str) -> Iterator[tuple[str, str]]:
    """What `list_refs` has, one by one."""
    for raw_name, target in raw_refs(Path(repo.path), *prefixes):
        name = _decoded(raw_name)
        if name is not None and not target.startswith(SYMBOLIC):
            yield name, target.decode()


def is_empty(repo: pygit2.Repository) -> bool:
    """Whether there is neither a branch nor a tag (libgit2's own function depends on the name in HEAD)."""
    return next(raw_refs(Path(repo.path), BRANCHES, TAGS), None) is None


def ref_target(repo: pygit2.Repository, name: str) -> str | None:
    """The object id of a full ref name; None if there is no such ref, or it is symbolic."""
    ref = repo.references.get(name) if is_valid_ref_name(name) else None
    target = None if ref is None else ref.raw_target
    return str(target) if isinstance(target, pygit2.Oid) else None


def list_branches(
    repo: pygit2.Repository, *, part: str = "", offset: int = 0, limit: int | None = None
) -> tuple[list[Branch], int]:
    """One page of the branches whose names hold ``part`` in any case, by name, and the number of these branches."""
    page: list[Branch] = []
    total = 0
    for ref, oid in each_ref(repo, BRANCHES):
        name = ref.removeprefix(BRANCHES)
        if part and part.casefold() not in name.casefold():
            continue
        if total >= offset and (limit is None or len(page) < limit):
            page.append(Branch(name, oid))
        total += 1
    return page, total


def get_branch(repo: pygit2.Repository, name: str) -> Branch:
    """The branch with exactly this short name.

    Raises:
        RefNotFound: there is none.
    """
    commit = _commit_of(repo, BRANCHES, name)
    if commit is None:
        raise RefNotFound("no such branch")
    return Branch(name, commit)


def tag_commit(repo: pygit2.Repository, name: str) -> str | None:
    """The commit of the tag with this short name; None if there is no such tag, or it is not of a commit."""
    return _commit_of(repo, TAGS, name)


def default_branch(repo: pygit2.Repository) -> str:
    """Short name of the branch that HEAD names, whether or not it has a commit yet.

    Raises:
        RefNotFound: HEAD does not name a branch.
    """
    target = repo.lookup_reference("HEAD").raw_target
    name = _decoded(target) if isinstance(target, bytes) else None
    if name is None or not name.startswith(BRANCHES):
        raise RefNotFound("HEAD does not name a branch")
    return name.removeprefix(BRANCHES)


def set_default_branch(repo: pygit2.Repository, name: str) -> None:
    """Set HEAD to this branch, which need not exist.

    Raises:
        InvalidName: not a branch name.
    """
    if not is_valid_ref_name(name):
        raise InvalidName("not a branch name")
    repo.set_head(BRANCHES + name)


def resolve(repo: pygit2.Repository, name: str) -> ResolvedName:
    """Resolve a name: a branch, else a tag, else a commit id of 4 to 40 hex digits. `HEAD` is the default branch.

    Raises:
        RefNotFound: none of these; or an abbreviated id that is not unique.
    """
    if name == "HEAD":
        name = default_branch(repo)
    resolved = _resolve_ref(repo, name) or _resolve_commit(repo, name)
    if resolved is None:
        raise RefNotFound("no such branch, tag or commit")
    return resolved


def resolve_path(repo: pygit2.Repository, text: str) -> tuple[ResolvedName, str]:
    """Split `<ref>/<path>` and resolve the ref; returns it and the rest, which may be empty.

    Segments are joined one by one: the first prefix that is a branch, else the first that is a tag, else the first
    that is the full name of one, else a first segment that is a full commit id, or `HEAD` before a path, else all of
    it is a path on the default branch.

    Raises:
        RefNotFound: a commit id that does not exist, or the default branch has no commit.
    """
    namespaces = (BRANCHES, TAGS)
    full = [(one, text.removeprefix(one)) for one in namespaces if text.startswith(one)]
    for namespace, rest in (*((one, text) for one in namespaces), *full):
        result = _resolve_prefix(repo, namespace, rest)
        if result is not None:
            return result
    first, slash, path = text.partition("/")
    if is_object_id(first.lower()) or (first == "HEAD" and slash):
        return resolve(repo, first), path
    return resolve(repo, default_branch(repo)), text


def diff_refs(before: Mapping[str, str], after: Mapping[str, str]) -> list[RefChange]:
    """The differences between two results of `list_refs`, by name."""
    return [
        RefChange(name, before.get(name, ZERO_OID), after.get(name, ZERO_OID))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def update_refs(path: Path, changes: Sequence[RefChange]) -> None:
    """Create, move and delete refs in one transaction: all of them or none. Blocks for some milliseconds.

    Each ref must have its `before` at that moment. 40 zeros in `before` create it, 40 zeros in `after` delete it.

    Raises:
        RefMoved: a ref has another value, exists already, or its name conflicts with another ref.
        InvalidName: not a full ref name, or not an object id.
        GitFailed: any other failure, such as an object that does not exist.
    """
    lines = []
    for change in changes:
        if not change.name.startswith("refs/") or not is_valid_ref_name(change.name):
            raise InvalidName(f"not a full ref name: {change.name!r}")
        if not is_object_id(change.before) or not is_object_id(change.after):
            raise InvalidName("not an object id")
        lines.append(f"update {change.name}\0{change.after}\0{change.before}\0")
    arguments, text = GitArgs("update-ref", ("--no-deref", "--stdin", "-z")), "".join(lines).encode()
    flushes_all = len(changes) > FEW_REFS
    environment = clean_environment(config=UNFLUSHED_REFS) if flushes_all else None
    try:
        run_git(arguments, git_dir=path, stdin=text, environment=environment)
        if flushes_all:
            flush(path)
    except GitFailed as error:
        if "cannot lock ref" not in error.stderr:
            raise
        # Only branches and tags are moved by the thousand, and what a killed process left of them is found in the journal.
        own = [change.name for change in changes if not change.name.startswith((BRANCHES, TAGS))]
        if len(own) < len(changes) or not remove_old_locks(path, own):
            raise RefMoved("a ref does not have the expected value") from error
        update_refs(path, changes)


def move_ref(repo: pygit2.Repository, change: RefChange) -> None:
    """Create or move one ref like `update_refs`, with the same errors, but mostly without a git process.

    libgit2 compares and writes under the lock that git would take. It does not wait if the lock is taken, and it does
    not report the reason. So git repeats whatever libgit2 refuses. Whether a new ref has come meanwhile libgit2 asks before it
    has the lock, so git creates those that others may create at the same moment.
    """
    if change.after != ZERO_OID and is_valid_ref_name(change.name):
        with contextlib.suppress(pygit2.GitError, LookupError, ValueError, OSError):
            if change.before == ZERO_OID and not change.name.startswith((BRANCHES, TAGS)):
                repo.references.create(change.name, change.after)
                return
            ref = repo.references.get(change.name)
            if ref is not None and ref.raw_target == pygit2.Oid(hex=change.before):
                ref.set_target(change.after)
                return
    update_refs(Path(repo.path), [change])


def set_ref(repo: pygit2.Repository, name: str, oid: str) -> None:
    """Set a ref of the service itself to this id, whatever its value was.

    Raises:
        RefMoved: it was moved at the same moment.
    """
    target = ref_target(repo, name)
    if target != oid:
        move_ref(repo, RefChange(name, target or ZERO_OID, oid))


def delete_branch(repo: pygit2.Repository, name: str, expected: str | None = None) -> str:
    """Delete a branch by short name and return the id it had.

    With `expected` it must still have that id.

    Raises:
        RefNotFound: there is none.
        RefMoved: it has another id, or moved meanwhile.
    """
    tip = get_branch(repo, name).oid
    update_refs(Path(repo.path), [RefChange(BRANCHES + name, expected or tip, ZERO_OID)])
    return tip


def delete_ref(repo: pygit2.Repository, name: str) -> None:
    """Delete a ref of the service itself, whatever its value is. Does nothing if there is none."""
    target = ref_target(repo, name)
    if target is not None:
        update_refs(Path(repo.path), [RefChange(name, target, ZERO_OID)])


def _resolve_ref(repo: pygit2.Repository, name: str) -> ResolvedName | None:
    return _resolve_in(repo, BRANCHES, name) or _resolve_in(repo, TAGS, name)


def _resolve_in(repo: pygit2.Repository, namespace: str, name: str) -> ResolvedName | None:
    commit = _commit_of(repo, namespace, name)
    if commit is None:
        return None
    return ResolvedName("branch" if namespace == BRANCHES else "tag", name, namespace + name, commit)


def _resolve_prefix(repo: pygit2.Repository, namespace: str, text: str) -> tuple[ResolvedName, str] | None:
    """The first ref of the namespace before a slash or the end of the text, and the rest."""
    for name in accumulate(text.split("/"), "{}/{}".format):
        if len(name) > _MAX_NAME_BYTES:
            return None
        resolved = _resolve_in(repo, namespace, name)
        if resolved is not None:
            return resolved, text[len(name) + 1 :]
    return None


def _resolve_commit(repo: pygit2.Repository, name: str) -> ResolvedName | None:
    if _COMMIT_ID.fullmatch(name) is None:
        return None
    try:
        commit: object = repo.get(name.lower())
    except ValueError:  # ambiguous
        return None
    if not isinstance(commit, pygit2.Commit):
        return None
    return ResolvedName("commit", str(commit.id), None, str(commit.id))


def _commit_of(repo: pygit2.Repository, namespace: str, name: str) -> str | None:
    """The commit of a branch or tag; None if there is no such ref, or it is not of a commit."""
    if not is_valid_ref_name(name):
        return None
    ref = repo.references.get(namespace + name)
    if ref is None:
        return None
    try:
        return str(ref.peel(ObjectType.COMMIT).id)
    except ValueError:  # a tag of an object that is no commit
        return None
    except pygit2.GitError as error:
        raise RepositoryDamaged("the object of a ref is missing") from error


def _decoded(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
