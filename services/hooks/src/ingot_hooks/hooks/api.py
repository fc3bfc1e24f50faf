"""Routes for hooks of repositories, of accounts and of the server: the same handlers, different policies.

Hooks of a repository are for its administrators. Members of an organization create and see its hooks, and its
owners change them. Users have hooks for all their own repositories. Administrators have the hooks of the
server.
"""

import json
import uuid
from datetime import datetime, timedelta
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from litestar import Response, delete, get, patch, post
from litestar.params import QueryParameter
from msgspec import UNSET, UnsetType

from ingot_chassis.clock import now
from ingot_chassis.db.rows import field_copier
from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.http.patch import set_fields
from ingot_chassis.operations import Detail
from ingot_chassis.security.sealing import Seal, Unreadable
from ingot_contracts.hooks.events import DeliveryRequested
from ingot_contracts.identity.accounts import Account
from ingot_contracts.limits import Description, Name
from ingot_contracts.repos.commits import NO_COMMIT, BranchTip
from ingot_contracts.repos.repositories import Repository
from ingot_hooks.catalog.api import in_organization, in_own_account, in_repository, of_server
from ingot_hooks.catalog.request import HooksRequest
from ingot_hooks.catalog.rules.access import HOOK_LEVEL, has_role
from ingot_hooks.catalog.rules.wakeup import DeliveryWakeup
from ingot_hooks.catalog.store import queries as store
from ingot_hooks.catalog.store.queries import DEFAULT_HOOKS, SERVER_HOOKS, SYSTEM_HOOKS, HookRow, Owner
from ingot_hooks.catalog.store.tables import HookType
from ingot_hooks.clients.identity import HttpIdentity
from ingot_hooks.clients.repos import HttpRepos
from ingot_hooks.deliveries.rules import fanout
from ingot_hooks.deliveries.rules.fanout import Announcement
from ingot_hooks.hooks import rules as hooks
from ingot_hooks.hooks.rules import MAX_URL
from ingot_hooks.payloads.rules import notices
from ingot_hooks.payloads.rules.notices import Notice

Names = Annotated[list[Name], msgspec.Meta(max_length=100)]
Url = Annotated[str, msgspec.Meta(max_length=MAX_URL)]


class HookConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The target of a hook. `channel` and `color` are for slack, `username` and `icon_url` also for discord.

    Other keys are ignored.
    """

    url: Url | UnsetType = UNSET
    content_type: Name | UnsetType = UNSET
    secret: Name | UnsetType = UNSET
    channel: Description | UnsetType = UNSET
    username: Description | UnsetType = UNSET
    icon_url: Description | UnsetType = UNSET
    color: Description | UnsetType = UNSET


class ServerHookConfig(HookConfig, frozen=True, kw_only=True):
    """The configuration of a hook of the server. `is_system_webhook` is text or a boolean.

    True: the hook gets the events of every repository. False: it is a default hook, which is copied to new
    repositories.
    """

    is_system_webhook: Name | bool = False


class CreateHookOption(msgspec.Struct, kw_only=True):
    """A new hook. `config` needs `url` and `content_type` (json or form).

    `secret` is never shown again. `authorization_header` is sent as `Authorization`. `name` is for people.
    """

    name: Name = ""
    type: Name
    config: HookConfig
    events: Names = []
    active: bool = False
    branch_filter: Name = ""
    authorization_header: Description = ""


class CreateServerHook(CreateHookOption, kw_only=True):
    config: ServerHookConfig


class EditHookOption(msgspec.Struct, kw_only=True):
    """A change of a hook. Absent fields keep their values. An empty list of `events` means only push.

    After a change of the secret, both secrets sign for a while. If `config.url` changes and no
    `authorization_header` is given, the header is removed.
    """

    name: Name | UnsetType = UNSET
    config: HookConfig = HookConfig()
    events: Names | UnsetType = UNSET
    active: bool | UnsetType = UNSET
    branch_filter: Name | UnsetType = UNSET
    authorization_header: Description | UnsetType = UNSET


class Hook(msgspec.Struct, kw_only=True):
    """A hook. `disabled_reason` is empty unless the server switched the hook off.

    `authorization_header` is shown to callers who may change the hook, and empty for other members of an
    organization.
    """

    id: int
    name: str
    type: str
    config: dict[str, str]
    events: list[str]
    active: bool
    updated_at: datetime
    created_at: datetime
    branch_filter: str
    authorization_header: str
    disabled_reason: str


_HOOK_FIELDS = field_copier(HookRow, Hook, without=("events", "created_at", "updated_at"))


def present(request: HooksRequest, row: HookRow) -> Hook:
    chat_settings = json.loads(row.settings) if row.type == HookType.SLACK else {}
    return Hook(
        config={"url": row.url, "content_type": row.content_type, **chat_settings},
        events=json.loads(row.events),
        updated_at=row.updated_at.replace(microsecond=0),
        created_at=row.created_at.replace(microsecond=0),
        authorization_header=_authorization(request, row),
        **_HOOK_FIELDS(row),
    )


def _authorization(request: HooksRequest, row: HookRow) -> str:
    """Return the header for callers who may change the hook; empty if it was encrypted with another key."""
    owner, principal = request.resource, request.principal
    if isinstance(owner, Account) and not has_role(principal, principal.organizations.get(owner.id), "owner"):
        return ""
    try:
        return request.part(Seal).open(row.sealed_authorization)
    except Unreadable:
        return ""


async def list_hooks(request: HooksRequest) -> Response[list[Hook]]:
    """List hooks in the order of their creation."""
    return await _list(request, request.owner)


async def _list(request: HooksRequest, owner: Owner) -> Response[list[Hook]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, owner, page)
    return Response([present(request, row) for row in rows], headers=request.page_headers(page, total))


async def create_hook(request: HooksRequest, data: CreateHookOption) -> Hook:
    """Create a hook. It is inactive unless `active` is true."""
    return await _create(request, data, request.owner)


async def _create(request: HooksRequest, data: CreateHookOption, owner: Owner) -> Hook:
    async with request.db.transaction() as tx:
        row = await hooks.create(
            tx,
            request.part(Seal),
            request.principal,
            owner,
            name=data.name,
            type_=data.type,
            config=set_fields(data.config),
            events=data.events,
            active=data.active,
            branch_filter=data.branch_filter,
            authorization=data.authorization_header,
        )
        await request.audit(tx, "hook.create", _subject(request), id=row.id, **_shown(row))
    return present(request, row)


async def create_server_hook(request: HooksRequest, data: CreateServerHook) -> Hook:
    """Create a system hook or a default hook. It is inactive unless `active` is true."""
    is_system = _boolean("config.is_system_webhook", data.config.is_system_webhook)
    return await _create(request, data, SYSTEM_HOOKS if is_system else DEFAULT_HOOKS)


def _boolean(field: str, value: str | bool) -> bool:
    """Return the boolean of a field. Raises Invalid."""
    text = str(value).lower()
    if text not in ("true", "1", "t", "false", "0", "f", ""):
        raise Invalid.field(field, "invalid", "is neither true nor false")
    return text in ("true", "1", "t")


async def list_server_hooks(
    request: HooksRequest, of_type: Annotated[str, QueryParameter(name="type")] = ""
) -> Response[list[Hook]]:
    """List system hooks or, by `type`, default hooks or both, in the order of their creation."""
    kind = of_type or "system"
    if kind not in SERVER_HOOKS_BY_TYPE:
        raise Invalid.field("type", "unsupported", f"is not one of {', '.join(SERVER_HOOKS_BY_TYPE)}")
    return await _list(request, SERVER_HOOKS_BY_TYPE[kind])


async def get_hook(request: HooksRequest, hook_id: int) -> Hook:
    """Get a hook."""
    return present(request, await request.hook(hook_id))


async def edit_hook(request: HooksRequest, hook_id: int, data: EditHookOption) -> Hook:
    """Change a hook."""
    async with request.db.transaction() as tx:
        row = await hooks.edit(
            tx,
            request.part(Seal),
            request.principal,
            request.owner,
            hook_id,
            set_fields(data),
            set_fields(data.config),
            rotation=timedelta(hours=request.settings.rotation_hours),
        )
        fields = sorted({*set_fields(data), *set_fields(data.config)} - {"config"})
        await request.audit(tx, "hook.edit", _subject(request), id=row.id, fields=fields, **_shown(row))
    return present(request, row)


async def delete_hook(request: HooksRequest, hook_id: int) -> None:
    """Delete a hook and cancel its pending deliveries."""
    async with request.db.transaction() as tx:
        await hooks.remove(tx, request.owner, hook_id)
        await request.audit(tx, "hook.delete", _subject(request), id=hook_id)


def _subject(request: HooksRequest) -> str:
    """Return the owner of the hook for the audit log."""
    owner = request.resource
    if isinstance(owner, Repository):
        return f"repository {owner.full_name}"
    if isinstance(owner, Account):
        return f"{owner.kind} {owner.login}"
    return f"user {request.principal.name}" if owner.organization_id == request.principal.id else "server"


def _shown(row: HookRow) -> dict[str, Detail]:
    """Return details of a hook for the audit log.

    Only the host of the URL is included: the rest may be secret.
    """
    return {"type": row.type, "host": urlsplit(row.url).hostname or "", "active": row.active}


async def try_repository_hook(request: HooksRequest, hook_id: int, ref: str = "") -> None:
    """Send a test push, also to an inactive hook.

    It names the branch `ref`, or the default branch. The branch does not move.
    """
    await _try(request, hook_id, ref.strip().removeprefix(notices.BRANCHES))


async def try_hook(request: HooksRequest, hook_id: int) -> None:
    """Send a test push of an example repository, also to an inactive hook."""
    await _try(request, hook_id)


async def _try(request: HooksRequest, hook_id: int, branch: str = "") -> None:
    """Send a test push. Raises NotFound, also if the named branch does not exist."""
    row = await request.hook(hook_id)
    notice = await _test_notice(request, branch)
    async with request.db.transaction() as tx:
        await fanout.queue_deliveries(tx, [Announcement(notice, str(uuid.uuid4()), [row], manual=True)])
        tx.emit(DeliveryRequested(hook_id=hook_id), key=hook_id)
    request.part(DeliveryWakeup).notify()


async def _test_notice(request: HooksRequest, branch: str) -> Notice:
    sender = (await request.part(HttpIdentity).account(request.principal.id)).user()
    owner = request.resource
    if isinstance(owner, Repository):
        tip = await _tip(request, owner, branch) if branch else await _default_branch_tip(request, owner)
        return notices.notice_of_test(owner, sender, tip, request.public_url)
    example_owner = owner.user() if isinstance(owner, Account) else sender
    example = notices.example_repository(example_owner, request.public_url, now())
    tip = BranchTip(name=example.default_branch, sha=NO_COMMIT)
    return notices.notice_of_test(example, sender, tip, request.public_url)


async def _default_branch_tip(request: HooksRequest, repository: Repository) -> BranchTip:
    """Return the tip of the default branch; forty zeros if it does not exist."""
    none = BranchTip(name=repository.default_branch, sha=NO_COMMIT)
    if not repository.default_branch:
        return none
    try:
        return await _tip(request, repository, repository.default_branch)
    except NotFound:
        return none


async def _tip(request: HooksRequest, repository: Repository, branch: str) -> BranchTip:
    """Return the tip of a branch. Raises NotFound."""
    return await request.part(HttpRepos).branch_tip(repository.id, branch, request.principal_token)


SERVER_HOOKS_BY_TYPE = {"system": SYSTEM_HOOKS, "default": DEFAULT_HOOKS, "all": SERVER_HOOKS}

HOOKS, HOOK = "/hooks", "/hooks/{hook_id:int}"

READ, WRITE = in_repository(HOOK_LEVEL, "read:hook"), in_repository(HOOK_LEVEL, "write:hook")
repository_routes = [
    get(HOOKS, policy=READ, operation_id="repoListHooks")(list_hooks),
    post(HOOKS, policy=WRITE, operation_id="repoCreateHook", status_code=201)(create_hook),
    get(HOOK, policy=READ, operation_id="repoGetHook")(get_hook),
    patch(HOOK, policy=WRITE, operation_id="repoEditHook")(edit_hook),
    delete(HOOK, policy=WRITE, operation_id="repoDeleteHook")(delete_hook),
    post(HOOK + "/tests", policy=WRITE, operation_id="repoTestHook", status_code=204)(try_repository_hook),
]

MEMBER_READ, MEMBER_WRITE = in_organization("member", "read:hook"), in_organization("member", "write:hook")
OWNER_WRITE = in_organization("owner", "write:hook")
organization_routes = [
    get(HOOKS, policy=MEMBER_READ, operation_id="orgListHooks")(list_hooks),
    post(HOOKS, policy=MEMBER_WRITE, operation_id="orgCreateHook", status_code=201)(create_hook),
    get(HOOK, policy=MEMBER_READ, operation_id="orgGetHook")(get_hook),
    patch(HOOK, policy=OWNER_WRITE, operation_id="orgEditHook")(edit_hook),
    delete(HOOK, policy=OWNER_WRITE, operation_id="orgDeleteHook")(delete_hook),
    post(HOOK + "/tests", policy=OWNER_WRITE, operation_id="orgTestHook", status_code=204)(try_hook),
]

organization_alias_routes = [
    delete(HOOK, policy=OWNER_WRITE, operation_id="orgDeleteHookAlias")(delete_hook),
]

OWN_READ, OWN_WRITE = in_own_account("read:hook"), in_own_account("write:hook")
own_routes = [
    get(HOOKS, policy=OWN_READ, operation_id="userListHooks")(list_hooks),
    post(HOOKS, policy=OWN_WRITE, operation_id="userCreateHook", status_code=201)(create_hook),
    get(HOOK, policy=OWN_READ, operation_id="userGetHook")(get_hook),
    patch(HOOK, policy=OWN_WRITE, operation_id="userEditHook")(edit_hook),
    delete(HOOK, policy=OWN_WRITE, operation_id="userDeleteHook")(delete_hook),
    post(HOOK + "/tests", policy=OWN_WRITE, operation_id="userTestHook", status_code=204)(try_hook),
]

ADMIN_READ, ADMIN_WRITE = of_server("read:admin"), of_server("write:admin")
server_routes = [
    get(HOOKS, policy=ADMIN_READ, operation_id="adminListHooks")(list_server_hooks),
    post(HOOKS, policy=ADMIN_WRITE, operation_id="adminCreateHook", status_code=201)(create_server_hook),
    get(HOOK, policy=ADMIN_READ, operation_id="adminGetHook")(get_hook),
    patch(HOOK, policy=ADMIN_WRITE, operation_id="adminEditHook")(edit_hook),
    delete(HOOK, policy=ADMIN_WRITE, operation_id="adminDeleteHook")(delete_hook),
    post(HOOK + "/tests", policy=ADMIN_WRITE, operation_id="adminTestHook", status_code=204)(try_hook),
]
