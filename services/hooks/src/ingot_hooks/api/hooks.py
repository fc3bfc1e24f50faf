"""Hooks, of whatever is above them in the path.

Those of a repository are for people who may write to it. Members of an organization make and see its hooks, and its
owners change them.
"""

import uuid

from litestar import Response, delete, get, patch, post

from ingot_chassis.policy import resource
from ingot_chassis.tables import now
from ingot_contracts.repos import NO_COMMIT, Repository
from ingot_hooks.api.call import Call
from ingot_hooks.api.paths import named
from ingot_hooks.api.shapes import CreateHook, EditHook, Hook, given, view
from ingot_hooks.core import fanout, hooks, payloads
from ingot_hooks.core.payloads import Notice
from ingot_hooks.store import hooks as store

READ, WRITE = resource("write", "read:hook"), resource("write", "write:hook")


@get("/hooks", policy=READ, members=True, operation_id=named("ListHooks"))
async def list_hooks(request: Call) -> Response[list[Hook]]:
    """Hooks in the order in which they were made."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.owner, page)
    return Response([view(row) for row in rows], headers=request.page_headers(page, total))


@post("/hooks", policy=WRITE, members=True, operation_id=named("CreateHook"), status_code=201)
async def create_hook(request: Call, data: CreateHook) -> Hook:
    """Create a hook. It is inactive unless `active` is true."""
    async with request.db.transaction() as tx:
        row = await hooks.create(
            tx,
            request.seal,
            request.who,
            request.owner,
            type_=data.type,
            config=given(data.config),
            events=data.events,
            active=data.active,
            branch_filter=data.branch_filter,
            authorization=data.authorization_header,
        )
    return view(row)


@get("/hooks/{hook_id:int}", policy=READ, members=True, operation_id=named("GetHook"))
async def get_hook(request: Call, hook_id: int) -> Hook:
    """A hook."""
    return view(await request.hook(hook_id))


@patch("/hooks/{hook_id:int}", policy=WRITE, operation_id=named("EditHook"))
async def edit_hook(request: Call, hook_id: int, data: EditHook) -> Hook:
    """Change a hook."""
    async with request.db.transaction() as tx:
        row = await hooks.edit(
            tx,
            request.seal,
            request.who,
            request.owner,
            hook_id,
            config=given(data.config),
            events=data.events,
            active=data.active,
            branch_filter=data.branch_filter,
            authorization=data.authorization_header,
            rotation=request.rotation,
        )
    return view(row)


@delete("/hooks/{hook_id:int}", policy=WRITE, operation_id=named("DeleteHook"))
async def delete_hook(request: Call, hook_id: int) -> None:
    """Delete a hook; what waits for it is not sent."""
    async with request.db.transaction() as tx:
        await hooks.remove(tx, request.owner, hook_id)


@post("/hooks/{hook_id:int}/tests", policy=WRITE, operation_id=named("TestHook"), status_code=204)
async def try_hook(request: Call, hook_id: int) -> None:
    """Send a push that did not happen, also to an inactive hook.

    The default branch of the repository stays where it is; a hook of an organization hears of a repository that
    does not exist.
    """
    row = await request.hook(hook_id)
    notice = await _of_test(request)
    async with request.db.transaction() as tx:
        await fanout.queue(tx, [row], notice, event_id=str(uuid.uuid4()), manual=True)
    request.bell.ring()


async def _of_test(request: Call) -> Notice:
    sender = (await request.identity.account(request.who.id)).user()
    of = request.hooked
    if isinstance(of, Repository):
        tip = await request.repos.tip(of.id, of.default_branch, principal=request.statement)
        return payloads.notice_of_test(of, sender, tip)
    example = payloads.example_repository(of.user(), request.public_url, now())
    return payloads.notice_of_test(example, sender, NO_COMMIT)


routes = [list_hooks, create_hook, get_hook, edit_hook, delete_hook, try_hook]
