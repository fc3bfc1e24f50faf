"""Hooks of organizations: members see and create them, owners change them. They fire for every repository of it."""

import uuid

from litestar import Response, delete, get, patch, post

from ingot_chassis.policy import signed_in
from ingot_chassis.tables import now
from ingot_contracts.repos import NO_COMMIT
from ingot_hooks.api.call import Call
from ingot_hooks.api.shapes import CreateHook, EditHook, Hook, given, view
from ingot_hooks.core import fanout, hooks, payloads
from ingot_hooks.store import hooks as store

PATH = "/api/v1/orgs/{org:str}/hooks"
READ, WRITE = signed_in("read:hook"), signed_in("write:hook")


@get(PATH, policy=READ, operation_id="orgListHooks", tags=["organization"])
async def list_hooks(request: Call, org: str) -> Response[list[Hook]]:
    """Hooks of an organization, in the order in which they were made."""
    owned = await request.organization(org)
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, owned, page)
    return Response([view(row) for row in rows], headers=request.page_headers(page, total))


@post(PATH, policy=WRITE, operation_id="orgCreateHook", tags=["organization"], status_code=201)
async def create_hook(request: Call, org: str, data: CreateHook) -> Hook:
    """Create a hook. It is inactive unless `active` is true."""
    owned = await request.organization(org)
    async with request.db.transaction() as tx:
        row = await hooks.create(
            tx,
            request.seal,
            request.who,
            owned,
            type_=data.type,
            config=given(data.config),
            events=data.events,
            active=data.active,
            branch_filter=data.branch_filter,
            authorization=data.authorization_header,
        )
    return view(row)


@get(PATH + "/{hook_id:int}", policy=READ, operation_id="orgGetHook", tags=["organization"])
async def get_hook(request: Call, org: str, hook_id: int) -> Hook:
    """A hook of an organization."""
    return view(await request.hook(await request.organization(org), hook_id))


@patch(PATH + "/{hook_id:int}", policy=WRITE, operation_id="orgEditHook", tags=["organization"])
async def edit_hook(request: Call, org: str, hook_id: int, data: EditHook) -> Hook:
    """Change a hook."""
    owned = await request.organization(org, owners_only=True)
    async with request.db.transaction() as tx:
        row = await hooks.edit(
            tx,
            request.seal,
            request.who,
            owned,
            hook_id,
            config=given(data.config),
            events=data.events,
            active=data.active,
            branch_filter=data.branch_filter,
            authorization=data.authorization_header,
            rotation=request.rotation,
        )
    return view(row)


@delete(PATH + "/{hook_id:int}", policy=WRITE, operation_id="orgDeleteHook", tags=["organization"])
async def delete_hook(request: Call, org: str, hook_id: int) -> None:
    """Delete a hook; what waits for it is not sent."""
    owned = await request.organization(org, owners_only=True)
    async with request.db.transaction() as tx:
        await hooks.remove(tx, owned, hook_id)


@delete(
    "/api/v1/org/{org:str}/hooks/{hook_id:int}",
    policy=WRITE,
    operation_id="orgDeleteHookAlias",
    tags=["organization"],
)
async def delete_hook_as_clients_spell_it(request: Call, org: str, hook_id: int) -> None:
    """The same, at the path that official clients use."""
    owned = await request.organization(org, owners_only=True)
    async with request.db.transaction() as tx:
        await hooks.remove(tx, owned, hook_id)


@post(
    PATH + "/{hook_id:int}/tests",
    policy=WRITE,
    operation_id="orgTestHook",
    tags=["organization"],
    status_code=204,
)
async def try_hook(request: Call, org: str, hook_id: int) -> None:
    """Send a push that did not happen, to a repository that does not exist; to an inactive hook, too."""
    row = await request.hook(await request.organization(org, owners_only=True), hook_id)
    organization = await request.identity.account_by_name(org)
    sender = await request.identity.account(request.who.id)
    repository = payloads.example_repository(organization.user(), request.public_url, now())
    notice = payloads.notice_of_test(repository, sender.user(), NO_COMMIT)
    async with request.db.transaction() as tx:
        await fanout.queue(tx, [row], notice, event_id=str(uuid.uuid4()), manual=True)
    request.bell.ring()


routes = [
    list_hooks,
    create_hook,
    get_hook,
    edit_hook,
    delete_hook,
    delete_hook_as_clients_spell_it,
    try_hook,
]
