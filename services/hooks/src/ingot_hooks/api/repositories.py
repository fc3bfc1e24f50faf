"""Hooks of repositories: for everybody who may write to the repository."""

import uuid

from litestar import Response, delete, get, patch, post

from ingot_chassis.policy import resource
from ingot_hooks.api.call import Call
from ingot_hooks.api.shapes import CreateHook, EditHook, Hook, given, view
from ingot_hooks.core import fanout, hooks, payloads
from ingot_hooks.store import hooks as store
from ingot_hooks.store.hooks import Owner

PATH = "/api/v1/repos/{owner:str}/{repo:str}/hooks"
READ, WRITE = resource("write", "read:hook"), resource("write", "write:hook")


@get(PATH, policy=READ, operation_id="repoListHooks", tags=["repository"])
async def list_hooks(request: Call, owner: str, repo: str) -> Response[list[Hook]]:
    """Hooks of a repository, in the order in which they were made."""
    owned = await request.repository(owner, repo)
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, owned, page)
    return Response([view(row) for row in rows], headers=request.page_headers(page, total))


@post(PATH, policy=WRITE, operation_id="repoCreateHook", tags=["repository"], status_code=201)
async def create_hook(request: Call, owner: str, repo: str, data: CreateHook) -> Hook:
    """Create a hook. It is inactive unless `active` is true."""
    owned = await request.repository(owner, repo)
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


@get(PATH + "/{hook_id:int}", policy=READ, operation_id="repoGetHook", tags=["repository"])
async def get_hook(request: Call, owner: str, repo: str, hook_id: int) -> Hook:
    """A hook of a repository."""
    return view(await request.hook(await request.repository(owner, repo), hook_id))


@patch(PATH + "/{hook_id:int}", policy=WRITE, operation_id="repoEditHook", tags=["repository"])
async def edit_hook(request: Call, owner: str, repo: str, hook_id: int, data: EditHook) -> Hook:
    """Change a hook."""
    owned = await request.repository(owner, repo)
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


@delete(PATH + "/{hook_id:int}", policy=WRITE, operation_id="repoDeleteHook", tags=["repository"])
async def delete_hook(request: Call, owner: str, repo: str, hook_id: int) -> None:
    """Delete a hook; what waits for it is not sent."""
    owned = await request.repository(owner, repo)
    async with request.db.transaction() as tx:
        await hooks.remove(tx, owned, hook_id)


@post(
    PATH + "/{hook_id:int}/tests",
    policy=WRITE,
    operation_id="repoTestHook",
    tags=["repository"],
    status_code=204,
)
async def try_hook(request: Call, owner: str, repo: str, hook_id: int) -> None:
    """Send a push that did not happen, at the present tip of the default branch; to an inactive hook, too."""
    repository = (await request.writable(owner, repo)).repository
    row = await request.hook(Owner(repository_id=repository.id), hook_id)
    tip = await request.repos.tip(repository.id, repository.default_branch, principal=request.statement)
    account = await request.identity.account(request.who.id)
    notice = payloads.notice_of_test(repository, account.user(), tip)
    async with request.db.transaction() as tx:
        await fanout.queue(tx, [row], notice, event_id=str(uuid.uuid4()), manual=True)
    request.bell.ring()


routes = [list_hooks, create_hook, get_hook, edit_hook, delete_hook, try_hook]
