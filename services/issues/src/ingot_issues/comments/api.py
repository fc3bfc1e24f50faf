"""Comments of issues and pull requests."""

import msgspec
from litestar import Response, delete, get, patch, post

from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.http.openapi import response_spec
from ingot_contracts.issues.issues import Comment
from ingot_contracts.issues.replies import ReplyByMail, StoredReply
from ingot_issues.access.api import queries
from ingot_issues.access.api.paths import on_issue, operation_ids
from ingot_issues.access.api.policies import by_issue_id, for_peer, in_repository
from ingot_issues.access.api.records import issue_id_of, issue_row_of
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.rules.repositories import may_comment
from ingot_issues.accounts import store as accounts
from ingot_issues.comments import store
from ingot_issues.comments.rules import writing as comments
from ingot_issues.comments.rules.views import comment_view
from ingot_issues.comments.store import CommentRow
from ingot_issues.markdown.api.texts import Markdown
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.issues import IssueRow
from ingot_issues.records.store.timeline import CommentKind
from ingot_issues.references.rules import Reference, find_in_markdown

ONE_COMMENT = "/issues/comments/{comment_id:int}"
ONE_COMMENT_DEPRECATED = on_issue("/comments/{comment_id:int}")
NO_TEXT = {204: response_spec(None, "It has no text of its own that could be edited")}


class CreateIssueCommentOption(msgspec.Struct):
    body: Markdown = ""


class EditIssueCommentOption(CreateIssueCommentOption):
    """A request to replace the text of a comment."""


@get(
    on_issue("/comments"),
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id=operation_ids("issueGetComments", "issue"),
    tags=["issue"],
)
async def list_issue_comments(
    request: IssuesRequest, index: int, since: str = "", string: str = "", before: str = ""
) -> Response[list[Comment]]:
    """List comments of an issue, oldest first.

    With `since` or `before`, list only comments that were last updated in this period. `string` is another
    name for `since`.
    """
    issue_id = await issue_id_of(request, index)
    return await _list_page(request, issue_id, since or string, before)


@get(
    "/issues/comments",
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueGetRepoComments",
    tags=["issue"],
)
async def list_repository_comments(
    request: IssuesRequest, since: str = "", string: str = "", before: str = ""
) -> Response[list[Comment]]:
    """List comments of all issues and pull requests, oldest first.

    With `since` or `before`, list only comments that were last updated in this period. `string` is another
    name for `since`.
    """
    return await _list_page(request, None, since or string, before)


async def _list_page(
    request: IssuesRequest, issue_id: int | None, since: str, before: str
) -> Response[list[Comment]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(
            db,
            request.repository_id,
            page,
            issue_id=issue_id,
            issues=issue_id is not None or request.access.issues_enabled,
            pulls=request.access.pulls_enabled,
            since=queries.moment(since),
            before=queries.end(before),
        )
        people = await accounts.get_people(db, (row.author_id for row in rows))
    presenter, repository = request.presenter, request.access.repository
    page_comments = [comment_view(presenter, row, repository, people) for row in rows]
    return Response(page_comments, headers=request.page_headers(page, total))


@post(
    on_issue("/comments"),
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id=operation_ids("issueCreateComment", "issues"),
    tags=["issue"],
    status_code=201,
)
async def create_comment(request: IssuesRequest, index: int, data: CreateIssueCommentOption) -> Comment:
    """Comment on an open or closed issue or pull request. A locked conversation requires write access."""
    issue = await issue_row_of(request, index)
    body, references, context = await _writable(request, issue, data.body)
    async with request.db.transaction() as tx:
        return await comments.write_comment(tx, context, issue, body, references)


@post(
    "/internal/issues/{issue_id:int}/replies",
    policy=for_peer(by_issue_id("signed-in", "write:issue"), "mail"),
    include_in_schema=False,
    status_code=200,
)
async def store_reply(request: IssuesRequest, issue_id: int, data: ReplyByMail) -> StoredReply:
    """Comment on an issue or pull request by mail, under the rules of ``create_comment``.

    A repeated request returns the stored reply, even if its author may no longer comment.
    """
    async with request.db.read() as db:
        issue, stored_id = await issue_rows.get_by_id(db, issue_id), await store.get_reply(db, data.key)
    if issue is None:
        raise NotFound
    await request.enter(is_pull=issue.is_pull)
    if stored_id:
        return StoredReply(comment_id=stored_id)
    body, references, context = await _writable(request, issue, data.body)
    async with request.db.transaction() as tx:
        return StoredReply(
            comment_id=await comments.write_reply(tx, context, issue, body, references, key=data.key)
        )


async def _writable(
    request: IssuesRequest, issue: IssueRow, body: str
) -> tuple[str, list[Reference], RepositoryContext]:
    """Return the text of a new comment with its references, and the context to write it.

    Raises Denied if the conversation is locked or the caller is blocked, and Invalid for an empty text.
    """
    if not await request.allowed(lambda access: may_comment(access, locked=issue.locked)):
        raise Denied("the conversation is locked")
    await request.require_unblocked(issue.author_id)
    clean, context = comments.clean_body(body), await request.context()
    return clean, await find_in_markdown(clean), context


@get(
    ONE_COMMENT,
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueGetComment",
    tags=["issue"],
)
async def get_comment(request: IssuesRequest, comment_id: int) -> Comment:
    """Get a comment."""
    row = await comment_of(request, comment_id)
    if row.kind != CommentKind.COMMENT:
        raise NotFound
    async with request.db.read() as db:
        people = await accounts.get_people(db, [row.author_id])
    return comment_view(request.presenter, row, request.access.repository, people)


@patch(
    ONE_COMMENT,
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueEditComment",
    tags=["issue"],
    responses=NO_TEXT,
)
async def edit_comment(
    request: IssuesRequest, comment_id: int, data: EditIssueCommentOption
) -> Response[Comment | None]:
    """Replace the text of a comment. Its author and administrators of the repository may do this."""
    return await _edit(request, comment_id, data)


@patch(
    ONE_COMMENT_DEPRECATED,
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id=operation_ids("issueEditCommentDeprecated", "issues"),
    tags=["issue"],
    deprecated=True,
    responses=NO_TEXT,
)
async def edit_comment_below_issue(
    request: IssuesRequest, comment_id: int, data: EditIssueCommentOption
) -> Response[Comment | None]:
    """Replace the text of a comment, like the route without an issue. The issue in the path is ignored."""
    return await _edit(request, comment_id, data)


async def _edit(
    request: IssuesRequest, comment_id: int, data: EditIssueCommentOption
) -> Response[Comment | None]:
    row = await _own_comment(request, comment_id)
    if row.kind != CommentKind.COMMENT:
        return Response(None, status_code=204)
    async with request.db.read() as db:
        issue = await issue_rows.get_by_id(db, row.issue_id)
    if issue is None:
        raise NotFound
    await request.require_unblocked(issue.author_id)
    body, context = comments.clean_body(data.body), await request.context()
    references = await find_in_markdown(body)
    async with request.db.transaction() as tx:
        return Response(await comments.edit_comment(tx, context, row, body, references))


@delete(
    ONE_COMMENT,
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueDeleteComment",
    tags=["issue"],
)
async def delete_comment(request: IssuesRequest, comment_id: int) -> None:
    """Delete a comment. Its author and administrators of the repository may do this."""
    await _delete(request, comment_id)


@delete(
    ONE_COMMENT_DEPRECATED,
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id=operation_ids("issueDeleteCommentDeprecated", "issues"),
    tags=["issue"],
    deprecated=True,
)
async def delete_comment_below_issue(request: IssuesRequest, comment_id: int) -> None:
    """Delete a comment, like the route without an issue. The issue in the path is ignored."""
    await _delete(request, comment_id)


async def _delete(request: IssuesRequest, comment_id: int) -> None:
    """Delete a comment. Nothing happens for other rows of the timeline. Raises NotFound, Denied."""
    row = await _own_comment(request, comment_id)
    if row.kind == CommentKind.COMMENT:
        context = await request.context()
        async with request.db.transaction() as tx:
            await comments.delete_comment(tx, context, row)


async def comment_of(request: IssuesRequest, comment_id: int) -> CommentRow:
    async with request.db.read() as db:
        row = await store.get(db, request.repository_id, comment_id)
    if row is None:
        raise NotFound
    await request.enter(is_pull=row.is_pull)
    return row


async def _own_comment(request: IssuesRequest, comment_id: int) -> CommentRow:
    """Return the comment if the caller may change it. Raises NotFound or Denied."""
    row = await comment_of(request, comment_id)
    await request.require_own_comment(row.author_id)
    return row


routes = [
    list_issue_comments, list_repository_comments, create_comment, get_comment, edit_comment,
    edit_comment_below_issue, delete_comment, delete_comment_below_issue,
]  # fmt: skip
internal_routes = [store_reply]
