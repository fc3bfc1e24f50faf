"""Commits that change files or revert commits for API requests. Concurrent changes are not lost."""

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_git.changes.file_changes import (
    ChangeRefused,
    FileChange,
    NewCommit,
    PreparedCommit,
    prepare_commit,
)
from ingot_git.history.commits import CommitInfo, Person
from ingot_git.history.new_objects import Signer
from ingot_git.process.errors import (
    ObjectNotFound,
    RefMoved,
    RefNotFound,
    RepositoryDamaged,
    RepositoryNotFound,
    UnsafeObject,
)
from ingot_git.storage.storage import Storage
from ingot_repos.catalog.rules import names
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.presentation.rules.announcements import person
from ingot_repos.pushes.rules.ref_updates import RefUpdates

MOST_ATTEMPTS = 10
_VERBS = {"create": "Add", "upload": "Add", "update": "Update", "rename": "Rename", "delete": "Delete"}


class CommitIdentity(msgspec.Struct, frozen=True):
    """Name, email address and time of an author or committer. Empty fields get the caller's values."""

    name: str = ""
    email: str = ""
    when: datetime | None = None


class CommitRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a commit. By default the branch is the default branch, and the message names the files."""

    branch: str = ""
    new_branch: str = ""
    message: str = ""
    author: CommitIdentity = CommitIdentity()
    committer: CommitIdentity = CommitIdentity()
    signoff: bool = False
    force: bool = False
    is_list: bool = False
    """True if the request has a list of files; errors then name a field by its index."""


Prepare = Callable[..., PreparedCommit]
"""A function ``(repo, new)`` in the package ``git`` that writes the commit."""


class FileEditor:
    """An editor of files of one repository, for one caller."""

    def __init__(self, storage: Storage, updates: RefUpdates, signer: Signer | None) -> None:
        self._storage, self._updates, self._signer = storage, updates, signer

    async def commit(
        self, request: CommitRequest, changes: Sequence[FileChange], prepare: Prepare = prepare_commit
    ) -> PreparedCommit:
        """Commit changes on top of the current branch.

        If the branch moves at the same time, the changes are applied again on the new tip. Raises Invalid,
        NotFound, Conflict, Denied, and RepositoryDamaged if an object is missing.
        """
        new = self._new_commit(request, changes)
        repository_id = self._updates.row.id
        async with self._updates.turn():
            for _ in range(MOST_ATTEMPTS):
                try:
                    prepared = await self._storage.call(repository_id, prepare, new)
                    await self._updates.apply([prepared.move])
                    return prepared
                except RefMoved:
                    continue
                except ObjectNotFound as error:
                    raise RepositoryDamaged("an object of the branch is missing") from error
                except (RefNotFound, RepositoryNotFound):
                    raise NotFound(f"there is no branch {new.branch!r}") from None
                except ChangeRefused as error:
                    raise _refusal(error, f"files[{error.number}]." if request.is_list else "") from None
                except UnsafeObject as error:
                    raise _unsafe(error, changes, is_list=request.is_list) from None
        raise Conflict("the branch moves too often; try again")

    def _new_commit(self, request: CommitRequest, changes: Sequence[FileChange]) -> NewCommit:
        branch = request.branch or self._updates.row.default_branch
        new_branch = request.new_branch or branch
        names.check_branch(branch, field="branch")
        names.check_branch(new_branch, field="new_branch")
        author, committer = _people(request, self._updates.actor)
        message = request.message.strip() or _message(changes)
        if request.signoff:
            message = f"{message}\n\nSigned-off-by: {committer.name} <{committer.email}>"
        return NewCommit(
            branch,
            new_branch,
            tuple(changes),
            f"{message}\n",
            author,
            committer,
            force=request.force,
            signer=self._signer,
        )


def _people(request: CommitRequest, actor: AccountRow) -> tuple[Person, Person]:
    """Return author and committer of a commit.

    If only one of them is given, both get its name and address. Without any, both are the caller.
    """
    caller = person(actor)
    author, committer = request.author, request.committer
    if not (author.name or author.email):
        author = msgspec.structs.replace(committer, when=author.when)
    if not (committer.name or committer.email):
        committer = msgspec.structs.replace(request.author, when=committer.when)
    return _person(author, caller), _person(committer, caller)


def _person(who: CommitIdentity, caller: Person) -> Person:
    return Person(who.name or caller.name, who.email or caller.email, who.when or caller.when)


def _message(changes: Sequence[FileChange]) -> str:
    """Return a commit message: one line for each kind of change, with the paths."""
    lines: dict[str, list[str]] = {}
    for change in changes:
        lines.setdefault(_VERBS[change.operation], []).append(change.path)
    return "\n".join(f"{verb} {', '.join(paths)}" for verb, paths in lines.items()) or "Apply a patch"


def revert_message(commit: CommitInfo) -> str:
    """Return the message of a commit that reverts another one, in git-revert(1)'s format."""
    subject = commit.message.lstrip().split("\n", 1)[0]
    of_merge = f", reversing\nchanges made to {commit.parents[0]}" if len(commit.parents) > 1 else ""
    return f'Revert "{subject}"\n\nThis reverts commit {commit.oid}{of_merge}.'


def _refusal(error: ChangeRefused, prefix: str) -> Invalid | NotFound | Conflict:
    """Return the API error for a rejected change. ``prefix`` is put before the names of a file's fields."""
    match error.reason:
        case "missing":
            return NotFound(f"{error.path}: {error}")
        case "sha":
            return Invalid.field(f"{prefix}sha", "mismatch", f"{error} ({error.path})")
        case "branch-exists":
            return Invalid.field("new_branch", "taken", str(error))
        case "conflict":
            return Conflict(str(error))
        case "patch":
            return Invalid.field("content", "patch", str(error))
        case _:
            return Invalid.field(f"{prefix}path", error.reason, f"{error.path}: {error}")


def _unsafe(error: UnsafeObject, changes: Sequence[FileChange], *, is_list: bool) -> Invalid:
    """Return the error for an unsafe file. A patch has no list of files, so its error names ``content``."""
    number = next((number for number, change in enumerate(changes) if change.path == error.path), None)
    field = "content" if number is None else f"files[{number}].path" if is_list else "path"
    return Invalid.field(field, "unsafe", f"{error.path}: {error}")
