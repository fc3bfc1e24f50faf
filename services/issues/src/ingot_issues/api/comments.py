"""Comments of issues and pull requests."""

import msgspec
from litestar import Response, delete, get, patch, post

from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.policy import resource
from ingot_contracts.issues import Comment
from ingot_issues.api import queries
from ingot_issues.api.call import Call
from ingot_issues.api.paths import named, on_issue
from ingot_issues.core import comments
from ingot_issues.core.access import may_comment, may_edit_comment
from ingot_issues.core.references import find_in_markdown
from ingot_issues.store import comments as store
from ingot_issues.store.comments import PLAIN, CommentRow
from ingot_issues.store.surroundings import people

ONE_COMMENT = "/issues/comments/{comment_id:int}"
ONE_COMMENT_DEPRECATED = on_issue("/comments/{comment_id:int}")


class WriteComment(msgspec.Struct):
    body: str = ""


@get(
    on_issue("/comments"),
    policy=resource("read", "read:issue"),
    unit="issues",
    operation_id=named("issueGetComments", "issue"),
    tags=["issue"],
)
async def list_issue_comments(
    request: Call, index: int, since: str = "", string: str = "", before: str = ""
) -> Response[list[Comment]]:
    """Comments of an issue, oldest first; with `since` (or `string`) those updated at or after it."""
    issue = await request.issue(index)
    return await _listed(request, issue.id, since or string, before)


@get(
    "/issues/comments",
    policy=resource("read", "read:issue"),
    unit="issues",
    operation_id="issueGetRepoComments",
    tags=["issue"],
)
async def list_repository_comments(
    request: Call, since: str = "", string: str = "", before: str = ""
) -> Response[list[Comment]]:
    """Comments of all issues and pull requests, oldest first."""
    return await _listed(request, None, since or string, before)


async def _listed(request: Call, issue_id: int | None, since: str, before: str) -> Response[list[Comment]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_of(
            db,
            request.repository_id,
            page,
            issue_id=issue_id,
            pulls=request.access.pulls_enabled,
            since=queries.moment(since),
            before=queries.moment(before),
        )
        around = await people(db, (row.author_id for row in rows))
    viewing, repository = request.viewing, request.access.repository
    found = [viewing.comment(row, repository, around) for row in rows]
    return Response(found, headers=request.page_headers(page, total))


@post(
    on_issue("/comments"),
    policy=resource("signed-in", "write:issue"),
    unit="issues",
    operation_id=named("issueCreateComment", "issues"),
    tags=["issue"],
    status_code=201,
)
async def create_comment(request: Call, index: int, data: WriteComment) -> Comment:
    """Comment on an issue or pull request, open or closed; on a locked one only writers may."""
    issue = await request.issue(index)
    if not await request.allowed(lambda access: may_comment(access, locked=issue.locked)):
        raise Denied("the conversation is locked")
    body, site = comments.clean_body(data.body), await request.site()
    found = await find_in_markdown(body)
    async with request.db.transaction() as tx:
        return await comments.comment_on(tx, site, issue, body, found)


@get(
    ONE_COMMENT,
    policy=resource("read", "read:issue"),
    unit="issues",
    operation_id="issueGetComment",
    tags=["issue"],
)
async def get_comment(request: Call, comment_id: int) -> Comment:
    """One comment."""
    row = await _comment(request, comment_id)
    if row.kind != PLAIN:
        raise NotFound
    async with request.db.read() as db:
        around = await people(db, [row.author_id])
    return request.viewing.comment(row, request.access.repository, around)


@patch(
    ONE_COMMENT,
    policy=resource("signed-in", "write:issue"),
    unit="issues",
    operation_id="issueEditComment",
    tags=["issue"],
)
async def edit_comment(request: Call, comment_id: int, data: WriteComment) -> Response[Comment | None]:
    """Replace what a comment says: its author and administrators of the repository may."""
    return await _edited(request, comment_id, data)


@patch(
    ONE_COMMENT_DEPRECATED,
    policy=resource("signed-in", "write:issue"),
    unit="issues",
    operation_id=named("issueEditCommentDeprecated", "issues"),
    tags=["issue"],
    deprecated=True,
)
async def edit_comment_below_issue(
    request: Call, comment_id: int, data: WriteComment
) -> Response[Comment | None]:
    """The same; which issue is named does not matter."""
    return await _edited(request, comment_id, data)


async def _edited(request: Call, comment_id: int, data: WriteComment) -> Response[Comment | None]:
    row = await _own_comment(request, comment_id)
    if row.kind != PLAIN:
        return Response(None, status_code=204)
    body, site = comments.clean_body(data.body), await request.site()
    found = await find_in_markdown(body)
    async with request.db.transaction() as tx:
        return Response(await comments.change_comment(tx, site, row, body, found))


@delete(
    ONE_COMMENT,
    policy=resource("signed-in", "write:issue"),
    unit="issues",
    operation_id="issueDeleteComment",
    tags=["issue"],
)
async def delete_comment(request: Call, comment_id: int) -> None:
    """Delete a comment: its author and administrators of the repository may."""
    await _delete(request, comment_id)


@delete(
    ONE_COMMENT_DEPRECATED,
    policy=resource("signed-in", "write:issue"),
    unit="issues",
    operation_id=named("issueDeleteCommentDeprecated", "issues"),
    tags=["issue"],
    deprecated=True,
)
async def delete_comment_below_issue(request: Call, comment_id: int) -> None:
    """The same; which issue is named does not matter."""
    await _delete(request, comment_id)


async def _delete(request: Call, comment_id: int) -> None:
    """What people did not write themselves stays."""
    row = await _own_comment(request, comment_id)
    if row.kind == PLAIN:
        site = await request.site()
        async with request.db.transaction() as tx:
            await comments.delete_comment(tx, site, row)


async def _comment(request: Call, comment_id: int) -> CommentRow:
    async with request.db.read() as db:
        row = await store.get(db, request.repository_id, comment_id)
    if row is None or (row.is_pull and not request.access.pulls_enabled):
        raise NotFound
    return row


async def _own_comment(request: Call, comment_id: int) -> CommentRow:
    """The comment, if the caller may change it. Raises NotFound or Denied."""
    row = await _comment(request, comment_id)
    if not await request.allowed(lambda access: may_edit_comment(access, request.who, row.author_id)):
        raise Denied("only its author and administrators of the repository may change it")
    return row


routes = [
    list_issue_comments, list_repository_comments, create_comment, get_comment, edit_comment,
    edit_comment_below_issue, delete_comment, delete_comment_below_issue,
]  # fmt: skip
