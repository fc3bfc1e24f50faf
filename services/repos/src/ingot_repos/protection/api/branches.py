"""Branch protection rules, managed by administrators of the repository."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import delete, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import Conflict, Denied, Invalid, NotFound
from ingot_chassis.http.patch import set_fields
from ingot_contracts.limits import Name, Text
from ingot_repos.access.api.policies import in_repository, writable
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.protection import store as protections
from ingot_repos.protection.api.allow_lists import MOST_NAMES, Names, names_of, team_ids, user_ids
from ingot_repos.protection.rules.decisions import MOST_RULES, check_file_patterns, check_pattern
from ingot_repos.protection.store import BranchProtectionRow, BranchRule, read_rule, write_json

USERS = (
    "push_whitelist_usernames",
    "force_push_allowlist_usernames",
    "merge_whitelist_usernames",
    "approvals_whitelist_username",
    "bypass_allowlist_usernames",
)
TEAMS = (
    "push_whitelist_teams",
    "force_push_allowlist_teams",
    "merge_whitelist_teams",
    "approvals_whitelist_teams",
    "bypass_allowlist_teams",
)
NamesOf = Annotated[list[Name], msgspec.Meta(max_length=MOST_NAMES)]
Approvals = Annotated[int, msgspec.Meta(ge=0, le=100)]
Priority = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
PATH = "/api/v1/repos/{owner:str}/{repo:str}/branch_protections"


class EditBranchProtection(msgspec.Struct, kw_only=True):
    """A change of a rule. Absent fields keep their values. Semicolons separate file patterns."""

    priority: Priority | UnsetType = UNSET
    enable_push: bool | UnsetType = UNSET
    enable_push_whitelist: bool | UnsetType = UNSET
    push_whitelist_usernames: NamesOf | UnsetType = UNSET
    push_whitelist_teams: NamesOf | UnsetType = UNSET
    push_whitelist_deploy_keys: bool | UnsetType = UNSET
    enable_force_push: bool | UnsetType = UNSET
    enable_force_push_allowlist: bool | UnsetType = UNSET
    force_push_allowlist_usernames: NamesOf | UnsetType = UNSET
    force_push_allowlist_teams: NamesOf | UnsetType = UNSET
    force_push_allowlist_deploy_keys: bool | UnsetType = UNSET
    enable_merge_whitelist: bool | UnsetType = UNSET
    merge_whitelist_usernames: NamesOf | UnsetType = UNSET
    merge_whitelist_teams: NamesOf | UnsetType = UNSET
    enable_status_check: bool | UnsetType = UNSET
    status_check_contexts: NamesOf | UnsetType = UNSET
    required_approvals: Approvals | UnsetType = UNSET
    enable_approvals_whitelist: bool | UnsetType = UNSET
    approvals_whitelist_username: NamesOf | UnsetType = UNSET
    approvals_whitelist_teams: NamesOf | UnsetType = UNSET
    block_on_rejected_reviews: bool | UnsetType = UNSET
    block_on_official_review_requests: bool | UnsetType = UNSET
    block_on_outdated_branch: bool | UnsetType = UNSET
    dismiss_stale_approvals: bool | UnsetType = UNSET
    ignore_stale_approvals: bool | UnsetType = UNSET
    block_admin_merge_override: bool | UnsetType = UNSET
    enable_bypass_allowlist: bool | UnsetType = UNSET
    bypass_allowlist_usernames: NamesOf | UnsetType = UNSET
    bypass_allowlist_teams: NamesOf | UnsetType = UNSET
    require_signed_commits: bool | UnsetType = UNSET
    protected_file_patterns: Text | UnsetType = UNSET
    unprotected_file_patterns: Text | UnsetType = UNSET


class CreateBranchProtection(EditBranchProtection, kw_only=True):
    """A new rule.

    `rule_name` is a branch or a pattern such as `release/*`. `branch_name` is an older name of this field.
    """

    rule_name: Name = ""
    branch_name: Name = ""


class OrderBranchProtections(msgspec.Struct, kw_only=True):
    """The ids of rules in their new order. The first rule that matches a branch protects it."""

    ids: Annotated[list[int], msgspec.Meta(max_length=MOST_RULES)]


class BranchProtection(msgspec.Struct, kw_only=True):
    """A branch protection rule. `branch_name` equals `rule_name`."""

    rule_name: str
    branch_name: str
    priority: int
    enable_push: bool
    enable_push_whitelist: bool
    push_whitelist_usernames: list[str]
    push_whitelist_teams: list[str]
    push_whitelist_deploy_keys: bool
    enable_force_push: bool
    enable_force_push_allowlist: bool
    force_push_allowlist_usernames: list[str]
    force_push_allowlist_teams: list[str]
    force_push_allowlist_deploy_keys: bool
    enable_merge_whitelist: bool
    merge_whitelist_usernames: list[str]
    merge_whitelist_teams: list[str]
    enable_status_check: bool
    status_check_contexts: list[str]
    required_approvals: int
    enable_approvals_whitelist: bool
    approvals_whitelist_username: list[str]
    approvals_whitelist_teams: list[str]
    block_on_rejected_reviews: bool
    block_on_official_review_requests: bool
    block_on_outdated_branch: bool
    dismiss_stale_approvals: bool
    ignore_stale_approvals: bool
    block_admin_merge_override: bool
    enable_bypass_allowlist: bool
    bypass_allowlist_usernames: list[str]
    bypass_allowlist_teams: list[str]
    require_signed_commits: bool
    protected_file_patterns: str
    unprotected_file_patterns: str
    created_at: datetime
    updated_at: datetime


@get(
    PATH,
    policy=in_repository("write", "read:repository"),
    operation_id="repoListBranchProtection",
    tags=["repository"],
)
async def list_rules(request: RepositoryRequest) -> list[BranchProtection]:
    """List branch protection rules by priority."""
    async with request.db.read() as db:
        rows = await protections.list_branch_rules(db, request.resource.id)
    return await _views(request, list(rows))


@post(
    PATH,
    policy=in_repository("admin", "write:repository"),
    operation_id="repoCreateBranchProtection",
    tags=["repository"],
    status_code=201,
)
async def create_rule(request: RepositoryRequest, data: CreateBranchProtection) -> BranchProtection:
    """Protect a branch, or all branches that match a pattern. Answers 403 if the rule already exists."""
    repository = writable(request)
    name = check_pattern(data.rule_name or data.branch_name, "rule_name")
    if name == "priority":
        raise Invalid.field("rule_name", "reserved", "is reserved, choose another name")
    changes = await _changes(request, data)
    priority = changes.pop("priority", None)
    rule = BranchRule(**changes)
    async with request.db.transaction() as tx:
        row = await protections.add_branch_rule(tx, repository.id, name, rule, priority)
        if row is None:
            raise Denied(f"there is a rule {name!r} already")
        if await protections.count_branch_rules(tx, repository.id) > MOST_RULES:
            raise Invalid.field("rule_name", "limit", f"the repository has {MOST_RULES} rules, and no more")
        fields = sorted(set_fields(data))
        subject = repository.audit_subject
        await request.audit(tx, "branch_protection.create", subject, rule=name, fields=fields)
    return (await _views(request, [row]))[0]


@post(
    PATH + "/priority",
    policy=in_repository("admin", "write:repository"),
    operation_id="repoUpdateBranchProtectionPriories",
    tags=["repository"],
    status_code=204,
)
async def order_rules(request: RepositoryRequest, data: OrderBranchProtections) -> None:
    """Move the rules with these ids to the front, in this order."""
    repository = writable(request)
    async with request.db.transaction() as tx:
        existing = {row.id for row in await protections.list_branch_rules(tx, repository.id)}
        for id_ in data.ids:
            if id_ not in existing:
                raise Invalid.field("ids", "unknown", f"the repository has no rule {id_}")
        await protections.set_priorities(tx, repository.id, data.ids)
        order = ",".join(map(str, data.ids))
        await request.audit(tx, "branch_protection.edit", repository.audit_subject, order=order)


@get(
    PATH + "/{name:path}",
    policy=in_repository("write", "read:repository"),
    operation_id="repoGetBranchProtection",
    tags=["repository"],
)
async def get_rule(request: RepositoryRequest, name: str) -> BranchProtection:  # noqa: ARG001 - read raw
    """Return the named rule. The name may contain slashes."""
    return (await _views(request, [await _rule(request)]))[0]


@patch(
    PATH + "/{name:path}",
    policy=in_repository("admin", "write:repository"),
    operation_id="repoEditBranchProtection",
    tags=["repository"],
)
async def edit_rule(
    request: RepositoryRequest,
    name: str,  # noqa: ARG001 - it comes normalized
    data: EditBranchProtection,
) -> BranchProtection:
    """Change a rule."""
    repository = writable(request)
    changes = await _changes(request, data)
    columns = {"priority": changes.pop("priority")} if "priority" in changes else {}
    async with request.db.transaction() as tx:
        row = await protections.get_branch_rule(tx, repository.id, request.rest_of_path(6))
        if row is None:
            raise NotFound
        rule = msgspec.structs.replace(read_rule(row), **changes)
        if not await protections.change_branch_rule(tx, row.id, rule=write_json(rule), **columns):
            raise Conflict("the rule was deleted during the request")
        edited = await protections.get_branch_rule(tx, repository.id, row.rule_name)
        subject, fields = repository.audit_subject, sorted(set_fields(data))
        await request.audit(tx, "branch_protection.edit", subject, rule=row.rule_name, fields=fields)
    if edited is None:
        raise NotFound
    return (await _views(request, [edited]))[0]


@delete(
    PATH + "/{name:path}",
    policy=in_repository("admin", "write:repository"),
    operation_id="repoDeleteBranchProtection",
    tags=["repository"],
)
async def delete_rule(request: RepositoryRequest, name: str) -> None:  # noqa: ARG001 - it comes normalized
    """Delete a rule. It no longer protects its branches."""
    repository = writable(request)
    async with request.db.transaction() as tx:
        rule = request.rest_of_path(6)
        if not await protections.remove_branch_rule(tx, repository.id, rule):
            raise NotFound
        await request.audit(tx, "branch_protection.delete", repository.audit_subject, rule=rule)


async def _rule(request: RepositoryRequest) -> BranchProtectionRow:
    async with request.db.read() as db:
        row = await protections.get_branch_rule(db, request.resource.id, request.rest_of_path(6))
    if row is None:
        raise NotFound
    return row


async def _changes(request: RepositoryRequest, data: EditBranchProtection) -> dict[str, Any]:
    """Return the fields of BranchRule and the priority that the body sets.

    Raises Invalid for unknown names and invalid patterns.
    """
    fields = set_fields(data)
    for name in ("rule_name", "branch_name"):
        fields.pop(name, None)
    for name in ("protected_file_patterns", "unprotected_file_patterns"):
        if name in fields:
            check_file_patterns(fields[name], name)
    for name in USERS:
        if name in fields:
            fields[name] = await user_ids(request, name, fields[name])
    for name in TEAMS:
        if name in fields:
            fields[name] = await team_ids(request, name, fields[name])
    for context in fields.get("status_check_contexts", ()):
        check_pattern(context, "status_check_contexts")
    return fields


async def _views(request: RepositoryRequest, rows: list[BranchProtectionRow]) -> list[BranchProtection]:
    rules = [read_rule(row) for row in rows]
    users = {id_ for rule in rules for field in USERS for id_ in getattr(rule, field)}
    teams = {id_ for rule in rules for field in TEAMS for id_ in getattr(rule, field)}
    names = await names_of(request, users, teams)
    return [_view(row, rule, names) for row, rule in zip(rows, rules, strict=True)]


def _view(row: BranchProtectionRow, rule: BranchRule, names: Names) -> BranchProtection:
    fields = msgspec.structs.asdict(rule)
    fields |= {name: names.of_users(fields[name]) for name in USERS}
    fields |= {name: names.of_teams(fields[name]) for name in TEAMS}
    return BranchProtection(
        rule_name=row.rule_name,
        branch_name=row.rule_name,
        priority=row.priority,
        created_at=row.created_at.replace(microsecond=0),
        updated_at=row.updated_at.replace(microsecond=0),
        **fields,
    )


routes = [list_rules, create_rule, order_rules, get_rule, edit_rule, delete_rule]
