"""Rights to the issues and pull requests of a repository.

repos returns the access level. These rules decide what it allows.
"""

from typing import Literal

import msgspec

from ingot_chassis.errors import ApiError, Denied, NotFound, Unauthenticated
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity.teams import Team
from ingot_contracts.repos.access import LEVELS, Level, reaches
from ingot_contracts.repos.events import RepositoryEdited
from ingot_contracts.repos.repositories import Repository, RepositoryAccess
from ingot_contracts.repos.trackers import DEFAULT_TRACKER, InternalTracker

Unit = Literal["", "issues", "pulls", "numbered", "merges", "code"]
"""The unit whose access counts: issues, pull requests (which need the code, too), or the code.

``numbered`` is issues or pull requests, until the number is resolved. An empty unit is also one of these two,
but is not switched off with the issues. ``merges`` is the code, for readers of pull requests.
"""
NEEDS_WRITE = "write access to the repository is needed"
RequiredLevel = Literal["read", "own", "signed-in", "write"]
"""A required access level. ``signed-in`` is for all readers who are signed in.

``own`` is for the same callers, for changes that affect only the caller.
"""


def require(access: RepositoryAccess, principal: Principal, level: RequiredLevel, unit: Unit = "") -> None:
    """Raise NotFound, Unauthenticated or Denied, in this order, for a caller without access.

    In an archived repository only changes with level "own" are allowed, which affect only the caller.
    """
    if not reaches(access.level, "read") or not _is_enabled(access, unit):
        raise NotFound
    if level != "read" and not principal.signed_in:
        raise Unauthenticated("sign in to do that")
    # A token for what is public gets an access only to a repository that is.
    if level != "read" and not principal.towards(access.repository.id, public=True).signed_in:
        raise Denied("the token is restricted to other repositories")
    if level == "write" and not may_write(access):
        raise Denied(NEEDS_WRITE)
    if level in ("signed-in", "write") and access.repository.archived:
        raise Denied("the repository is archived")


def allows(access: RepositoryAccess, principal: Principal, level: RequiredLevel, unit: Unit = "") -> bool:
    """Return whether ``require`` does not raise."""
    try:
        require(access, principal, level, unit)
    except ApiError:
        return False
    return True


def in_unit(access: RepositoryAccess, unit: Unit) -> RepositoryAccess:
    """Return the access with only the level in ``unit``. Units that the caller cannot read are disabled.

    An access that is already limited to one unit is returned as it is.
    """
    if not access.units:
        return access
    return msgspec.structs.replace(
        access,
        level=_level_in(access, unit),
        units={},
        issues_enabled=access.issues_enabled and reads(access, is_pull=False),
        pulls_enabled=access.pulls_enabled and reads(access, is_pull=True),
    )


def reads(access: RepositoryAccess, *, is_pull: bool) -> bool:
    """Return whether the access includes issues or, with ``is_pull``, pull requests.

    The access must not be limited to one unit.
    """
    return _level_in(access, "pulls" if is_pull else "issues") != "none"


def _level_in(access: RepositoryAccess, unit: Unit) -> Level:
    if unit == "code":
        return access.of("code")
    pulls = access.of("pulls") if access.of("code") != "none" else "none"
    if unit == "pulls":
        return pulls
    if unit == "merges":
        return access.of("code") if pulls != "none" else "none"
    issues = access.of("issues")
    return issues if unit == "issues" else max(issues, pulls, key=LEVELS.index)


def may_write(access: RepositoryAccess) -> bool:
    return reaches(access.level, "write")


def may_administer(access: RepositoryAccess) -> bool:
    return reaches(access.level, "admin")


def may_edit_issue(access: RepositoryAccess, principal: Principal, author_id: int) -> bool:
    """Return whether the caller is the author of the issue or may write."""
    return principal.id == author_id or may_write(access)


def may_close_by_reference(access: RepositoryAccess, account_id: int, author_id: int) -> bool:
    """True if the account is the author or may write.

    False if issues are disabled or the repository is archived.

    The account need not be the caller.
    """
    can_change = not access.repository.archived and access.issues_enabled
    return can_change and (account_id == author_id or may_write(access))


def may_comment(access: RepositoryAccess, *, locked: bool) -> bool:
    """True if the caller may comment. Locked conversations require write access."""
    return not locked or may_write(access)


def may_edit_comment(access: RepositoryAccess, principal: Principal, author_id: int) -> bool:
    """Return whether the caller is the author or administers the repository."""
    return principal.id == author_id or reaches(access.level, "admin")


def may_track_time(
    access: RepositoryAccess, principal: Principal, author_id: int, assignee_ids: list[int]
) -> bool:
    """True if the caller may track time: a writer, the author or an assignee.

    The repository can allow it to all callers who are signed in.
    """
    contributes = may_write(access) or principal.id in (author_id, *assignee_ids)
    return contributes or not _tracker(access.repository).allow_only_contributors_to_track_time


def tracks_time(access: RepositoryAccess) -> bool:
    """Return whether the repository tracks time."""
    return _tracker(access.repository).enable_time_tracker


def has_dependencies(repository: Repository) -> bool:
    """Return whether issues of the repository may block other issues."""
    return _tracker(repository).enable_issue_dependencies


def is_transfer(edit: RepositoryEdited) -> bool:
    """Return whether the repository has a new owner."""
    former_owner = edit.previous_full_name.partition("/")[0].lower()
    return former_owner not in ("", edit.repository.owner.login.lower())


def has_everything(team: Team) -> bool:
    """True if the team has access to all repositories of its organization, like the team Owners."""
    return team.permission == "owner" or team.includes_all_repositories


def may_propose(base: RepositoryAccess, head: RepositoryAccess) -> bool:
    """Return whether the caller may open a pull request.

    It requires write access to pull requests of the base, or to the code of the head.
    """
    return may_write(base) or may_write(head)


def _tracker(repository: Repository) -> InternalTracker:
    return repository.internal_tracker or DEFAULT_TRACKER


def _is_enabled(access: RepositoryAccess, unit: Unit) -> bool:
    if unit == "issues":
        return access.issues_enabled
    if unit == "numbered":
        return access.repository.has_issues
    if unit in ("pulls", "merges"):
        repository = access.repository
        return access.pulls_enabled and not repository.mirror and not repository.empty
    return True
