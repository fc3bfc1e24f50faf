"""Who may do what to the issues and pull requests of a repository. Repos says the level, this says what it allows."""

from typing import Literal

from ingot_chassis.errors import ApiError, Denied, NotFound, Unauthenticated
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity import Team
from ingot_contracts.repos import Repository, RepositoryAccess, reaches
from ingot_contracts.trackers import DEFAULT_TRACKER, InternalTracker

Unit = Literal["", "issues", "pulls"]
RequiredLevel = Literal["read", "own", "signed-in", "write"]
"""``signed-in`` is for everybody who may read and is signed in; ``own`` too, for what concerns the caller alone."""


def require(access: RepositoryAccess, principal: Principal, level: RequiredLevel, unit: Unit = "") -> None:
    """Raises NotFound, Unauthenticated or Denied, in this order, for a caller who may not.

    Nothing changes in an archived repository but what concerns the caller alone.
    """
    if not reaches(access.level, "read") or not _is_enabled(access, unit):
        raise NotFound
    if level != "read" and not principal.signed_in:
        raise Unauthenticated("sign in to do that")
    if level != "read" and not principal.towards(access.repository.id).signed_in:
        raise Denied("the token is restricted to other repositories")
    if level == "write" and not may_write(access):
        raise Denied("write access to the repository is needed")
    if level in ("signed-in", "write") and access.repository.archived:
        raise Denied("the repository is archived")


def allows(access: RepositoryAccess, principal: Principal, level: RequiredLevel, unit: Unit = "") -> bool:
    """Whether ``require`` raises nothing."""
    try:
        require(access, principal, level, unit)
    except ApiError:
        return False
    return True


def may_write(access: RepositoryAccess) -> bool:
    return reaches(access.level, "write")


def may_administer(access: RepositoryAccess) -> bool:
    return reaches(access.level, "admin")


def may_edit_issue(access: RepositoryAccess, principal: Principal, author_id: int) -> bool:
    """The author and writers."""
    return principal.id == author_id or may_write(access)


def may_close_by_reference(access: RepositoryAccess, account_id: int, author_id: int) -> bool:
    """The author and writers, without a request of theirs; nobody in an archived repository."""
    can_change = not access.repository.archived and access.issues_enabled
    return can_change and (account_id == author_id or may_write(access))


def may_comment(access: RepositoryAccess, *, locked: bool) -> bool:
    """Readers, but only writers where the conversation is locked."""
    return not locked or may_write(access)


def may_edit_comment(access: RepositoryAccess, principal: Principal, author_id: int) -> bool:
    """The author and administrators of the repository."""
    return principal.id == author_id or reaches(access.level, "admin")


def may_track_time(
    access: RepositoryAccess, principal: Principal, author_id: int, assignee_ids: list[int]
) -> bool:
    """Writers, the author and assignees; everybody who is signed in where the repository says so."""
    contributes = may_write(access) or principal.id in (author_id, *assignee_ids)
    return contributes or not _tracker(access.repository).allow_only_contributors_to_track_time


def tracks_time(access: RepositoryAccess) -> bool:
    """Whether the repository tracks time."""
    return _tracker(access.repository).enable_time_tracker


def has_dependencies(repository: Repository) -> bool:
    """Whether issues of the repository wait for others."""
    return _tracker(repository).enable_issue_dependencies


def has_everything(team: Team) -> bool:
    """Whether the team has every repository of its organization, as Owners always has."""
    return team.permission == "owner" or team.includes_all_repositories


def may_propose(base: RepositoryAccess, head: RepositoryAccess) -> bool:
    """A pull request needs write access to the repository of the base or of the head."""
    return may_write(base) or may_write(head)


def _tracker(repository: Repository) -> InternalTracker:
    return repository.internal_tracker or DEFAULT_TRACKER


def _is_enabled(access: RepositoryAccess, unit: Unit) -> bool:
    if unit == "issues":
        return access.issues_enabled
    if unit == "pulls":
        repository = access.repository
        return access.pulls_enabled and not repository.mirror and not repository.empty
    return True
