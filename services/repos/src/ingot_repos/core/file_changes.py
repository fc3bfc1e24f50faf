"""Commits files to a branch for requests of the API, so that of two changes at once none is lost; and reverts commits."""

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_repos.core import names
from ingot_repos.core.ref_updates import RefUpdates
from ingot_repos.core.repositories import person
from ingot_repos.git.commits import CommitInfo, Person
from ingot_repos.git.errors import (
    ObjectNotFound,
    RefMoved,
    RefNotFound,
    RepositoryDamaged,
    RepositoryNotFound,
)
from ingot_repos.git.file_changes import ChangeRefused, FileChange, NewCommit, PreparedCommit, prepare_commit
from ingot_repos.git.storage import Storage
from ingot_repos.store.accounts import AccountRow

MOST_ATTEMPTS = 10
_VERBS = {"create": "Add", "upload": "Add", "update": "Update", "rename": "Rename", "delete": "Delete"}


class Who(msgspec.Struct, frozen=True):
    """Name and address of an author or committer, and when; what is empty is taken from the caller."""

    name: str = ""
    email: str = ""
    when: datetime | None = None


class CommitRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How changes are committed. Without ``branch`` it is the default branch, without ``message`` the files say it."""

    branch: str = ""
    new_branch: str = ""
    message: str = ""
    author: Who = Who()
    committer: Who = Who()
    signoff: bool = False
    force: bool = False
    is_list: bool = False
    """Whether the request has a list of files, by whose numbers errors name a field."""


Prepare = Callable[..., PreparedCommit]
"""``(repo, new)``: a function of ``git`` that writes the commit."""


class FileEditor:
    """Changes files of one repository as one caller."""

    def __init__(self, storage: Storage, updates: RefUpdates) -> None:
        self._storage, self._updates = storage, updates

    async def commit(
        self, request: CommitRequest, changes: Sequence[FileChange], prepare: Prepare = prepare_commit
    ) -> PreparedCommit:
        """Commit changes on top of the branch as it is now. Raises Invalid, NotFound, Conflict, Denied.

        When the branch moves meanwhile, the changes are judged again, on top of what it has then. Raises RepositoryDamaged
        when an object of it is missing.
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
            branch, new_branch, tuple(changes), f"{message}\n", author, committer, force=request.force
        )


def _people(request: CommitRequest, actor: AccountRow) -> tuple[Person, Person]:
    """Author and committer. If only one of them is named, it is both."""
    caller = person(actor)
    author, committer = request.author, request.committer
    if not (author.name or author.email):
        author = msgspec.structs.replace(committer, when=author.when)
    if not (committer.name or committer.email):
        committer = msgspec.structs.replace(request.author, when=committer.when)
    return _person(author, caller), _person(committer, caller)


def _person(who: Who, caller: Person) -> Person:
    return Person(who.name or caller.name, who.email or caller.email, who.when or caller.when)


def _message(changes: Sequence[FileChange]) -> str:
    """A line for each kind of change, with the paths."""
    lines: dict[str, list[str]] = {}
    for change in changes:
        lines.setdefault(_VERBS[change.operation], []).append(change.path)
    return "\n".join(f"{verb} {', '.join(paths)}" for verb, paths in lines.items()) or "Apply a patch"


def revert_message(commit: CommitInfo) -> str:
    """What a commit says that takes back another one, in the words of git-revert(1)."""
    subject = commit.message.split("\n", 1)[0]
    of_merge = f", reversing\nchanges made to {commit.parents[0]}" if len(commit.parents) > 1 else ""
    return f'Revert "{subject}"\n\nThis reverts commit {commit.oid}{of_merge}.'


def _refusal(error: ChangeRefused, prefix: str) -> Invalid | NotFound | Conflict:
    """``prefix`` stands before the names of the fields of a file."""
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
