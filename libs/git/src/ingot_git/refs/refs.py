"""Lists refs and moves them safely.

Every change names the expected value of each ref and takes the same locks as a push. libgit2 moves a single
ref; several refs are one `git update-ref --stdin` transaction (git-update-ref(1)).
"""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2

from ingot_git.process.command import GitArgs, clean_environment, run_git
from ingot_git.process.configuration import UNFLUSHED_REFS
from ingot_git.process.disk import FEW_REFS, flush
from ingot_git.process.errors import GitFailed, InvalidName, RefMoved, RefNotFound
from ingot_git.refs.ref_files import SYMBOLIC, raw_refs
from ingot_git.refs.ref_locks import remove_old_locks
from ingot_git.refs.tag_targets import commit_of

ZERO_OID = "0" * 40
BRANCHES = "refs/heads/"
TAGS = "refs/tags/"

_OBJECT_ID = re.compile(r"[0-9a-f]{40}")
LIKE_AN_ID = "the name ends like the full id of an object"
"""The reason why such a ref may not be created."""

_FULL_ID = re.compile(r"[0-9a-fA-F]{40}([0-9a-fA-F]{24})?")
# git-check-ref-format(1), rules 3 to 10 except for rules about single components.
_NEVER_IN_A_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")
_MAX_COMPONENT_BYTES = 250  # a file name of 255 bytes minus ".lock"
_MAX_NAME_BYTES = 1024


@dataclass(frozen=True, slots=True)
class RefChange:
    """A change of a ref: its full name (`refs/…`) and object ids. 40 zeros mean "does not exist"."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch: its short name and the id of its tip."""

    name: str
    oid: str


def is_object_id(text: str) -> bool:
    """True if this is a full SHA-1 id in lower case."""
    return _OBJECT_ID.fullmatch(text) is not None


def is_full_id(text: str) -> bool:
    """True if this is a full SHA-1 or SHA-256 id, in lower or upper case. A full id never names a ref."""
    return _FULL_ID.fullmatch(text) is not None


def is_valid_ref_name(name: str) -> bool:
    """True if a branch or tag may have this name (git-check-ref-format(1) with `--branch`).

    This check is stricter than git's: no `HEAD`, no single `@`, and no name that is too long for a file.
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


def ends_like_an_id(name: str) -> bool:
    """True if the last component of a ref name has the form of a full object id.

    Such refs may exist from earlier versions. They are listed and can be deleted, but not created or moved.
    """
    return is_full_id(name.rpartition("/")[2])


def _is_valid_component(part: bytes) -> bool:
    return (
        0 < len(part) <= _MAX_COMPONENT_BYTES
        and not part.startswith(b".")
        and not part.endswith((b".lock", b"."))
    )


def list_refs(repo: pygit2.Repository, prefixes: Sequence[str] = ("refs/",)) -> dict[str, str]:
    """Return object ids by full ref name, sorted by name. An annotated tag has the id of its tag object.

    Symbolic refs and names that are not UTF-8 are skipped, because the API cannot represent them.
    """
    return dict(each_ref(repo, *prefixes))


def each_ref(repo: pygit2.Repository, *prefixes: str) -> Iterator[tuple[str, str]]:
    """Yield the name and object id of each ref that `list_refs` returns."""
    for raw_name, target in raw_refs(Path(repo.path), *prefixes):
        name = _decoded(raw_name)
        if name is not None and not target.startswith(SYMBOLIC):
            yield name, target.decode()


def is_empty(repo: pygit2.Repository) -> bool:
    """True if there is no branch and no tag. libgit2's own function depends on the name in HEAD."""
    return next(raw_refs(Path(repo.path), BRANCHES, TAGS), None) is None


def ref_target(repo: pygit2.Repository, name: str) -> str | None:
    """Return the object id of a full ref name; None if the ref does not exist or is symbolic."""
    ref = repo.references.get(name) if is_valid_ref_name(name) else None
    target = None if ref is None else ref.raw_target
    return str(target) if isinstance(target, pygit2.Oid) else None


def target_of_ref(repo: pygit2.Repository, name: str) -> str | None:
    """Return the object id of a full ref name, following symbolic refs; None if it is missing or dangling."""
    ref = repo.references.get(name) if is_valid_ref_name(name) else None
    try:
        return None if ref is None else str(ref.resolve().raw_target)
    except KeyError:  # a dangling symbolic ref
        return None


def list_branches(
    repo: pygit2.Repository, *, part: str = "", offset: int = 0, limit: int | None = None
) -> tuple[list[Branch], int]:
    """Return one page of branches by name, and their total number.

    Only branches whose names contain ``part`` are listed and counted, ignoring case.
    """
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
    """Return the branch with exactly this short name.

    Raises:
        RefNotFound: the branch does not exist, or does not point to a commit.
        RepositoryDamaged: the commit of the branch is missing.
    """
    commit = _commit_of(repo, BRANCHES, name)
    if commit is None:
        raise RefNotFound("no such branch")
    return Branch(name, commit)


def tag_commit(repo: pygit2.Repository, name: str) -> str | None:
    """Return the commit of the tag with this short name; None if the tag or its commit does not exist."""
    return _commit_of(repo, TAGS, name)


def default_branch(repo: pygit2.Repository) -> str:
    """Return the short name of the branch in HEAD, which may have no commit yet.

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
        InvalidName: ``name`` is not a branch name.
    """
    if not is_valid_ref_name(name):
        raise InvalidName("not a branch name")
    repo.set_head(BRANCHES + name)


def diff_refs(before: Mapping[str, str], after: Mapping[str, str]) -> list[RefChange]:
    """Return the differences between two results of `list_refs`, by name."""
    return [
        RefChange(name, before.get(name, ZERO_OID), after.get(name, ZERO_OID))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def update_refs(path: Path, changes: Sequence[RefChange]) -> None:
    """Create, move and delete refs in one transaction: all or none. Blocks for some milliseconds.

    Each ref must have its `before` value. 40 zeros in `before` create it, 40 zeros in `after` delete it.

    Raises:
        RefMoved: a ref has another value, exists already, or its name conflicts with another ref.
        InvalidName: a name is not a full ref name, or an id is not an object id.
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
        # Only branches and tags are moved by the thousand. The journal finds their stale locks.
        own = [change.name for change in changes if not change.name.startswith((BRANCHES, TAGS))]
        if len(own) < len(changes) or not remove_old_locks(path, own):
            raise RefMoved("a ref does not have the expected value") from error
        update_refs(path, changes)


def move_ref(repo: pygit2.Repository, change: RefChange) -> None:
    """Create or move one ref like `update_refs`, with the same errors, but usually without a git process.

    libgit2 compares and writes under the same lock as git. It neither waits for a lock nor reports the reason
    of a failure. So git repeats each update that libgit2 refuses. libgit2 checks for a new ref before it has
    the lock. So git creates refs that other processes may create at the same moment.
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
    """Set an internal ref to this id, independent of its old value.

    Raises:
        RefMoved: another process moved the ref at the same moment.
    """
    target = ref_target(repo, name)
    if target != oid:
        move_ref(repo, RefChange(name, target or ZERO_OID, oid))


def delete_branch(repo: pygit2.Repository, name: str, expected: str | None = None) -> str:
    """Delete a branch by its short name and return its last id.

    With `expected`, the branch must still have this id.

    Raises:
        RefNotFound: the branch does not exist.
        RefMoved: the branch has another id, or was moved by another process.
    """
    tip = get_branch(repo, name).oid
    update_refs(Path(repo.path), [RefChange(BRANCHES + name, expected or tip, ZERO_OID)])
    return tip


def delete_ref(repo: pygit2.Repository, name: str) -> None:
    """Delete an internal ref, independent of its value. Do nothing if it does not exist."""
    target = ref_target(repo, name)
    if target is not None:
        update_refs(Path(repo.path), [RefChange(name, target, ZERO_OID)])


def _commit_of(repo: pygit2.Repository, namespace: str, name: str) -> str | None:
    target = target_of_ref(repo, namespace + name) if is_valid_ref_name(name) else None
    return None if target is None else commit_of(repo, target)


def _decoded(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
