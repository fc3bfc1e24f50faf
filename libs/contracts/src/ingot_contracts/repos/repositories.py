"""Repositories in the form of the API, with the rights of a caller."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from ingot_contracts.identity.accounts import User
from ingot_contracts.limits import EventBranch, EventName, EventShortText, most_bytes, most_items
from ingot_contracts.repos.access import AccessLevel, Level, Permission
from ingot_contracts.repos.trackers import ExternalTracker, ExternalWiki, InternalTracker
from ingot_contracts.repos.transfers import RepositoryTransfer


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository in the form of the API. In events ``permissions`` are all false.

    ``units_map`` has the level of the caller in each unit, in answers to a caller whose levels differ.
    ``has_…`` are the enabled units. ``licenses`` are SPDX keys. ``original_url`` is the address of the source
    of an import or a mirror, and ``mirror_…`` describe a mirror. They are empty in events. ``allow_…``
    are the allowed styles of merging and updating pull requests.
    ``default_merge_style`` is one of ``MERGE_STYLES``. ``internal``: only members of its organization see it.
    Fields below "without effect" return the value that a client sent, and have no effect.
    """

    id: int
    owner: User
    name: str
    full_name: str
    description: EventName = ""
    empty: bool = True
    private: bool = False
    fork: bool = False
    parent: "Repository | None" = None
    mirror: bool = False
    mirror_interval: str = ""
    mirror_updated: datetime | None = None
    mirror_last_sync_at: datetime | None = None
    original_url: str = ""
    size: int = 0
    html_url: str = ""
    ssh_url: str = ""
    clone_url: str = ""
    website: EventName = ""
    stars_count: int = 0
    forks_count: int = 0
    watchers_count: int = 0
    open_issues_count: int = 0
    default_branch: EventBranch = ""
    archived: bool = False
    archived_at: datetime | None = None
    created_at: datetime
    updated_at: datetime
    permissions: Permission = Permission()
    units_map: dict[str, Level] | UnsetType = UNSET
    has_code: bool = True
    has_issues: bool = True
    has_pull_requests: bool = True
    has_releases: bool = True
    template: bool = False
    internal: bool = False
    topics: Annotated[list[EventShortText], most_items(50)] = []
    language: str = ""
    licenses: Annotated[list[Annotated[str, most_bytes(50)]], most_items(10)] = []
    branch_count: int = 0
    url: str = ""
    link: str = ""
    avatar_url: str = ""
    languages_url: str = ""
    object_format_name: str = "sha1"
    release_counter: int = 0
    open_pr_counter: int = 0
    allow_merge_commits: bool = True
    allow_rebase: bool = True
    allow_rebase_explicit: bool = True
    allow_squash_merge: bool = True
    allow_fast_forward_only_merge: bool = True
    allow_merge_update: bool = True
    allow_rebase_update: bool = True
    allow_manual_merge: bool = False
    autodetect_manual_merge: bool = True
    default_merge_style: str = "merge"
    default_update_style: str = "merge"
    default_delete_branch_after_merge: bool = False
    ignore_whitespace_conflicts: bool = False
    internal_tracker: InternalTracker | None = None
    repo_transfer: RepositoryTransfer | None = None
    has_wiki: bool = False
    # without effect
    has_projects: bool = False
    has_packages: bool = False
    has_actions: bool = False
    projects_mode: str = ""
    default_allow_maintainer_edit: bool = False
    external_tracker: ExternalTracker | None = None
    external_wiki: ExternalWiki | None = None


class RepositoryAccess(AccessLevel, frozen=True, kw_only=True, omit_defaults=False):
    """GET /internal/repositories/by-name/{owner}/{name}/access and …/{id}/access: the caller's access.

    ``?user={id}``: access of that user instead of the caller's. 404 if the caller or user may not see the
    repository.
    """

    repository: Repository
    owner_kind: Literal["user", "organization"] = "user"
    issues_enabled: bool = True
    pulls_enabled: bool = True
    ready: bool = True
