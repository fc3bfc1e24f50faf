"""Tag protection rules, managed by administrators of the repository."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import delete, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied, Invalid, NotFound, Unavailable
from ingot_contracts.limits import Name
from ingot_repos.access.api.policies import in_repository, writable
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.catalog.store import repositories
from ingot_repos.protection import store as protections
from ingot_repos.protection.api.allow_lists import MOST_NAMES, names_of, team_ids, user_ids
from ingot_repos.protection.rules.decisions import MOST_RULES, check_pattern
from ingot_repos.protection.store import TagProtectionRow, read_ids, write_json

NamesOf = Annotated[list[Name], msgspec.Meta(max_length=MOST_NAMES)]
PATH = "/api/v1/repos/{owner:str}/{repo:str}/tag_protections"


class CreateTagProtection(msgspec.Struct, kw_only=True):
    """A pattern of tags, with the users and teams that may create, move or delete matching tags."""

    name_pattern: Name
    whitelist_usernames: NamesOf = []
    whitelist_teams: NamesOf = []


class EditTagProtection(msgspec.Struct, kw_only=True):
    """A change of a rule. Absent fields keep their values."""

    name_pattern: Name | UnsetType = UNSET
    whitelist_usernames: NamesOf | UnsetType = UNSET
    whitelist_teams: NamesOf | UnsetType = UNSET


class TagProtection(msgspec.Struct, kw_only=True):
    id: int
    name_pattern: str
    whitelist_usernames: list[str]
    whitelist_teams: list[str]
    created_at: datetime
    updated_at: datetime


@get(
    PATH,
    policy=in_repository("write", "read:repository"),
    operation_id="repoListTagProtection",
    tags=["repository"],
)
async def list_rules(request: RepositoryRequest) -> list[TagProtection]:
    """List tag protection rules, the oldest first."""
    async with request.db.read() as db:
        rows = await protections.list_tag_rules(db, request.resource.id)
    return await _views(request, list(rows))


@post(
    PATH,
    policy=in_repository("admin", "write:repository"),
    operation_id="repoCreateTagProtection",
    tags=["repository"],
    status_code=201,
)
async def create_rule(request: RepositoryRequest, data: CreateTagProtection) -> TagProtection:
    """Protect all tags that match a pattern. Answers 403 if the rule already exists."""
    repository = writable(request)
    pattern = check_pattern(data.name_pattern, "name_pattern")
    users = await user_ids(request, "whitelist_usernames", data.whitelist_usernames)
    teams = await team_ids(request, "whitelist_teams", data.whitelist_teams)
    async with request.db.transaction() as tx:
        await _require_free(tx, repository.id, pattern)
        row = await protections.add_tag_rule(tx, repository.id, pattern, users, teams)
        if await protections.count_tag_rules(tx, repository.id) > MOST_RULES:
            raise Invalid.field(
                "name_pattern", "limit", f"the repository has {MOST_RULES} rules, and no more"
            )
        await request.audit(tx, "tag_protection.create", repository.audit_subject, pattern=pattern)
    if row is None:
        raise Unavailable("the rule was not stored")
    return (await _views(request, [row]))[0]


@get(
    PATH + "/{rule_id:int}",
    policy=in_repository("write", "read:repository"),
    operation_id="repoGetTagProtection",
    tags=["repository"],
)
async def get_rule(request: RepositoryRequest, rule_id: int) -> TagProtection:
    """Get a tag protection rule."""
    async with request.db.read() as db:
        row = await protections.get_tag_rule(db, request.resource.id, rule_id)
    if row is None:
        raise NotFound
    return (await _views(request, [row]))[0]


@patch(
    PATH + "/{rule_id:int}",
    policy=in_repository("admin", "write:repository"),
    operation_id="repoEditTagProtection",
    tags=["repository"],
)
async def edit_rule(request: RepositoryRequest, rule_id: int, data: EditTagProtection) -> TagProtection:
    """Change a rule."""
    repository = writable(request)
    columns: dict[str, Any] = {}
    if data.name_pattern is not UNSET:
        columns["name_pattern"] = check_pattern(data.name_pattern, "name_pattern")
    if data.whitelist_usernames is not UNSET:
        users = await user_ids(request, "whitelist_usernames", data.whitelist_usernames)
        columns["user_ids"] = write_json(users)
    if data.whitelist_teams is not UNSET:
        columns["team_ids"] = write_json(await team_ids(request, "whitelist_teams", data.whitelist_teams))
    async with request.db.transaction() as tx:
        row = await protections.get_tag_rule(tx, repository.id, rule_id)
        if row is not None and columns.get("name_pattern", row.name_pattern) != row.name_pattern:
            await _require_free(tx, repository.id, columns["name_pattern"])
        if row is None or not await protections.change_tag_rule(tx, rule_id, **columns):
            raise NotFound
        edited = await protections.get_tag_rule(tx, repository.id, rule_id)
        subject, pattern = repository.audit_subject, row.name_pattern
        await request.audit(tx, "tag_protection.edit", subject, pattern=pattern, fields=sorted(columns))
    if edited is None:
        raise NotFound
    return (await _views(request, [edited]))[0]


@delete(
    PATH + "/{rule_id:int}",
    policy=in_repository("admin", "write:repository"),
    operation_id="repoDeleteTagProtection",
    tags=["repository"],
)
async def delete_rule(request: RepositoryRequest, rule_id: int) -> None:
    """Delete a rule. It no longer protects its tags."""
    repository = writable(request)
    async with request.db.transaction() as tx:
        if not await protections.remove_tag_rule(tx, repository.id, rule_id):
            raise NotFound
        await request.audit(tx, "tag_protection.delete", repository.audit_subject, id=rule_id)


async def _require_free(tx: Tx, repository_id: int, pattern: str) -> None:
    """Raise Denied if a rule with this pattern exists. Of two concurrent requests, the second waits."""
    await repositories.lock_for_update(tx, repository_id)
    if any(row.name_pattern == pattern for row in await protections.list_tag_rules(tx, repository_id)):
        raise Denied(f"there is a rule {pattern!r} already")


async def _views(request: RepositoryRequest, rows: list[TagProtectionRow]) -> list[TagProtection]:
    lists = [(read_ids(row.user_ids), read_ids(row.team_ids)) for row in rows]
    names = await names_of(
        request, {id_ for users, _ in lists for id_ in users}, {id_ for _, teams in lists for id_ in teams}
    )
    return [
        TagProtection(
            id=row.id,
            name_pattern=row.name_pattern,
            whitelist_usernames=names.of_users(users),
            whitelist_teams=names.of_teams(teams),
            created_at=row.created_at.replace(microsecond=0),
            updated_at=row.updated_at.replace(microsecond=0),
        )
        for row, (users, teams) in zip(rows, lists, strict=True)
    ]


routes = [list_rules, create_rule, get_rule, edit_rule, delete_rule]
