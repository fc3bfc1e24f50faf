"""Files of a pull request that the caller has viewed. Only web calls this. No user sees another's list."""

from litestar import get, put

from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.issues.file_views import MOST_FILE_VIEWS, FileViews, ViewFile
from ingot_issues.access.api.policies import for_peer, in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.issues.api.presentation import issue_of
from ingot_issues.pulls.store import file_views as store

PATH = "/internal/repos/{owner:str}/{repo:str}/pulls/{index:int}/file-views"


@get(PATH, policy=for_peer(in_repository("own", "read:issue", "pulls"), "web"), include_in_schema=False)
async def list_views(request: IssuesRequest, index: int) -> FileViews:
    """List the files of a pull request that the caller has viewed."""
    pull_id = await _pull_id(request, index)
    async with request.db.read() as db:
        rows = await store.list_own(db, pull_id, request.principal.id)
    return FileViews(changes={row.path_sha256.hex(): row.changes_sha256.hex() for row in rows})


@put(
    PATH,
    policy=for_peer(in_repository("own", "write:issue", "pulls"), "web"),
    include_in_schema=False,
    status_code=204,
)
async def view_file(request: IssuesRequest, index: int, data: ViewFile) -> None:
    """Mark a file as viewed or not viewed by the caller.

    Raises Invalid if there are too many viewed files.
    """
    pull_id, account_id = await _pull_id(request, index), request.principal.id
    path = bytes.fromhex(data.path)
    async with request.db.transaction() as tx:
        if data.changes is None:
            await store.remove(tx, pull_id, account_id, path)
            return
        await store.save(tx, pull_id, account_id, path, bytes.fromhex(data.changes))
        if await store.count(tx, pull_id, account_id) > MOST_FILE_VIEWS:
            raise Invalid.field("path", "length", f"you have looked at {MOST_FILE_VIEWS} files, the most")


async def _pull_id(request: IssuesRequest, index: int) -> int:
    """Return the issue's id. Raises NotFound, also for an issue that is not a pull request."""
    issue = await issue_of(request, index)
    if not issue.is_pull:
        raise NotFound
    return issue.id


routes = [list_views, view_file]
