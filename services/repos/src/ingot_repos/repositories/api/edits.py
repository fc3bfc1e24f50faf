"""The route that changes a repository."""

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Annotated, Any, Literal

import msgspec
from litestar import patch
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import Invalid
from ingot_chassis.http.patch import set_fields
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.security.sealing import Seal
from ingot_contracts.limits import WEB_URL, Description, Name
from ingot_contracts.repos.merges import MergeStyle
from ingot_contracts.repos.repositories import Repository
from ingot_contracts.repos.trackers import ExternalTracker, ExternalWiki, InternalTracker
from ingot_git.history.licenses import licenses_column
from ingot_git.process.errors import RefNotFound
from ingot_git.refs.refs import get_branch, set_default_branch
from ingot_repos.access.api.answers import present
from ingot_repos.access.api.policies import (
    in_repository,
    require_on_disk,
    sender_of,
)
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.rules import extra_settings, names
from ingot_repos.catalog.rules.extra_settings import TrustModel
from ingot_repos.catalog.rules.names import Secret
from ingot_repos.mirrors.rules import schedule
from ingot_repos.presentation.rules.intervals import read_interval
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.remotes import store as import_rows
from ingot_repos.remotes.rules import credentials
from ingot_repos.repositories.rules import edits
from ingot_repos.repositories.rules.creation import Website

UNITS = {
    "has_issues": "issues_enabled",
    "has_pull_requests": "pulls_enabled",
    "has_releases": "releases_enabled",
    "has_wiki": "wiki_enabled",
}


class TrackerOption(ExternalTracker, frozen=True, kw_only=True):
    """An external tracker in a request. Stored trackers may have URLs that this check would reject."""

    external_tracker_url: Annotated[Description, WEB_URL] = ""


class WikiOption(ExternalWiki, frozen=True, kw_only=True):
    """An external wiki in a request. Stored wikis may have URLs that this check would reject."""

    external_wiki_url: Annotated[Description, WEB_URL] = ""


OF_MIRRORS = ("enable_prune", "mirror_interval", "mirror_username", "mirror_password", "mirror_token")
"""Fields that only mirrors have; they are ignored for other repositories."""
NOT_STORED = ("has_code", *OF_MIRRORS)


class EditRepository(msgspec.Struct, kw_only=True):
    """A change of a repository. Absent fields keep their values.

    Settings of features that Ingot does not have, such as projects, are stored without effect. A default
    branch that does not exist is ignored. A default merge style that is not allowed is ignored, too. Fields
    of mirrors are ignored for other repositories.
    """

    name: Name | UnsetType = UNSET
    description: Name | UnsetType = UNSET
    website: Website | UnsetType = UNSET
    private: bool | UnsetType = UNSET
    default_branch: Name | UnsetType = UNSET
    archived: bool | UnsetType = UNSET
    has_issues: bool | UnsetType = UNSET
    has_pull_requests: bool | UnsetType = UNSET
    has_releases: bool | UnsetType = UNSET
    has_wiki: bool | UnsetType = UNSET
    template: bool | UnsetType = UNSET
    allow_merge_commits: bool | UnsetType = UNSET
    allow_rebase: bool | UnsetType = UNSET
    allow_rebase_explicit: bool | UnsetType = UNSET
    allow_squash_merge: bool | UnsetType = UNSET
    allow_fast_forward_only_merge: bool | UnsetType = UNSET
    allow_merge_update: bool | UnsetType = UNSET
    allow_rebase_update: bool | UnsetType = UNSET
    default_merge_style: MergeStyle | UnsetType = UNSET
    default_delete_branch_after_merge: bool | UnsetType = UNSET
    has_code: bool | UnsetType = UNSET
    enable_prune: bool | UnsetType = UNSET
    trust_model: TrustModel | UnsetType = UNSET
    has_projects: bool | UnsetType = UNSET
    has_packages: bool | UnsetType = UNSET
    has_actions: bool | UnsetType = UNSET
    projects_mode: Literal["", "repo", "owner", "all"] | UnsetType = UNSET
    allow_manual_merge: bool | UnsetType = UNSET
    autodetect_manual_merge: bool | UnsetType = UNSET
    default_allow_maintainer_edit: bool | UnsetType = UNSET
    default_update_style: Literal["merge", "rebase"] | UnsetType = UNSET
    ignore_whitespace_conflicts: bool | UnsetType = UNSET
    internal_tracker: InternalTracker | UnsetType = UNSET
    external_tracker: TrackerOption | UnsetType = UNSET
    external_wiki: WikiOption | UnsetType = UNSET
    mirror_interval: Name | UnsetType = UNSET
    mirror_username: Secret | UnsetType = UNSET
    mirror_password: Secret | UnsetType = UNSET
    mirror_token: Secret | UnsetType = UNSET

    def columns(self) -> dict[str, Any]:
        """Return the changed columns of the repository."""
        return {
            UNITS.get(name, name): value
            for name, value in set_fields(self).items()
            if name not in extra_settings.NAMES and name not in NOT_STORED
        }

    def extra_settings(self) -> dict[str, Any]:
        """Return the changed settings of the column ``inert_settings``."""
        return {
            name: msgspec.to_builtins(value)
            for name, value in set_fields(self).items()
            if name in extra_settings.NAMES
        }

    @property
    def username(self) -> str | None:
        """The user name for the remote of a mirror, or None if it is not set."""
        return None if self.mirror_username is UNSET else self.mirror_username

    @property
    def password(self) -> str | None:
        """The password or token for the remote of a mirror, or None if neither is set.

        A token takes precedence.
        """
        token = "" if self.mirror_token is UNSET else self.mirror_token
        return token or (None if self.mirror_password is UNSET else self.mirror_password)


@patch(
    "/api/v1/repos/{owner:str}/{repo:str}",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="repoEdit",
    tags=["repository"],
)
async def edit_repository(request: RepositoryRequest, data: EditRepository) -> Repository:
    """Change a repository. Absent fields keep their values."""
    repository = request.resource
    data = await _applicable(request, repository, data)
    branch = data.default_branch
    sender = await sender_of(request)
    interval = None
    if data.mirror_interval is not UNSET:
        interval = read_interval(data.mirror_interval, least=request.settings.mirror_least_seconds)
    stays: AbstractAsyncContextManager[None] = nullcontext()
    if branch is not UNSET:  # HEAD must be changed where the files are
        stays = request.part(Pushes).uploading(repository.id, sender.id)
    columns = data.columns()
    async with stays:
        if branch is not UNSET:
            columns["licenses"] = await request.storage.call(repository.id, licenses_column, branch)
        async with request.db.transaction() as tx:
            row = await edits.edit(
                tx, request.presenter, repository.row, sender, columns, data.extra_settings()
            )
            await request.audit(
                tx, "repository.edit", request.resource.audit_subject, fields=sorted(set_fields(data))
            )
            if interval is not None:
                await schedule.set_interval(tx, request.part(Jobs), row, interval)
            if data.username is not None or data.password is not None:
                remote = await import_rows.get_remote(tx, row.id)
                sealed = credentials.change_credentials(
                    request.part(Seal), remote.sealed if remote else None, data.username, data.password
                )
                await schedule.set_credentials(tx, row, sealed)
        if branch is not UNSET:  # also when it is the same: a process may have died here
            await request.storage.call(repository.id, set_default_branch, branch)
    return await present(request, ResolvedRepository(row, repository.access))


async def _applicable(
    request: RepositoryRequest, repository: ResolvedRepository, data: EditRepository
) -> EditRepository:
    """Return the request without the fields that do not apply to the repository.

    Raises Invalid for a field that would have another effect than requested.
    """
    if data.has_code is False:
        raise Invalid.field("has_code", "unsupported", "code cannot be switched off")
    dropped: tuple[str, ...] = () if repository.row.mirror else OF_MIRRORS
    if repository.row.mirror and data.enable_prune is False:
        text = "a mirror always deletes branches and tags that its remote has deleted"
        raise Invalid.field("enable_prune", "unsupported", text)
    branch = data.default_branch
    if branch is not UNSET and not await _can_be_default(request, repository, branch):
        dropped = (*dropped, "default_branch")
    return msgspec.structs.replace(data, **dict.fromkeys(dropped, UNSET))


async def _can_be_default(request: RepositoryRequest, repository: ResolvedRepository, branch: str) -> bool:
    """Return whether the branch exists. An empty repository accepts any name. Raises Invalid."""
    if not branch:
        return False
    names.check_branch(branch)
    require_on_disk(request, repository)
    if repository.row.empty:
        return True
    try:
        await request.storage.call(repository.id, get_branch, branch)
    except RefNotFound:
        return False
    return True


routes = [edit_repository]
