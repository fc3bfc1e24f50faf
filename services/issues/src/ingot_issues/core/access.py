"""Who may do what to the issues and pull requests of a repository. Repos says the level, this says what it opens."""

from typing import Literal

from ingot_chassis.errors import Denied, NotFound, Unauthenticated
from ingot_chassis.principal import Principal
from ingot_contracts.repos import RepositoryAccess, reaches

Unit = Literal["", "issues", "pulls"]
Asked = Literal["read", "signed-in", "write"]
"""``signed-in`` is for whoever may read and has a name."""


def require(access: RepositoryAccess, who: Principal, asked: Asked, unit: Unit = "") -> None:
    """Let through who may. Raises NotFound, Unauthenticated or Denied, in this order.

    Nothing changes in an archived repository.
    """
    if not reaches(access.level, "read") or not _unit_is_there(access, unit):
        raise NotFound
    if asked != "read" and not who.signed_in:
        raise Unauthenticated("sign in to do that")
    if asked != "read" and not who.towards(access.repository.id).signed_in:
        raise Denied("the token is restricted to other repositories")
    if asked == "write" and not may_write(access):
        raise Denied("write access to the repository is needed")
    if asked != "read" and access.repository.archived:
        raise Denied("the repository is archived")


def may_write(access: RepositoryAccess) -> bool:
    return reaches(access.level, "write")


def may_edit_issue(access: RepositoryAccess, who: Principal, author_id: int) -> bool:
    """The author and writers."""
    return who.id == author_id or may_write(access)


def may_edit_by_id(access: RepositoryAccess, account_id: int, author_id: int) -> bool:
    """The same, of somebody who is not calling; nobody in an archived repository."""
    open_ = not access.repository.archived and access.issues_enabled
    return open_ and (account_id == author_id or may_write(access))


def may_comment(access: RepositoryAccess, *, locked: bool) -> bool:
    """Whoever gets in, but only writers where the conversation is locked."""
    return not locked or may_write(access)


def may_edit_comment(access: RepositoryAccess, who: Principal, author_id: int) -> bool:
    """The author and administrators of the repository."""
    return who.id == author_id or reaches(access.level, "admin")


def may_track_time(access: RepositoryAccess, who: Principal, author_id: int, assignees: list[int]) -> bool:
    """Writers, the author and assignees."""
    return may_write(access) or who.id in (author_id, *assignees)


def may_propose(base: RepositoryAccess, head: RepositoryAccess) -> bool:
    """A pull request: from a branch one may write to, or into a repository one may write to."""
    return may_write(base) or may_write(head)


def _unit_is_there(access: RepositoryAccess, unit: Unit) -> bool:
    if unit == "issues":
        return access.issues_enabled
    if unit == "pulls":
        repository = access.repository
        return access.pulls_enabled and not repository.mirror and not repository.empty
    return True
