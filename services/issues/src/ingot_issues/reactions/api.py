"""Reactions to issues and comments."""

from datetime import datetime

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.http.openapi import response_spec
from ingot_chassis.http.paging import Page
from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.conversations import ReactionCount
from ingot_contracts.issues.reactions import ReactionContent
from ingot_issues.access.api import queries
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.records import issue_id_of, issue_row_of
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.rules.repositories import may_comment
from ingot_issues.accounts import store as accounts
from ingot_issues.accounts.store import People
from ingot_issues.comments import store as comments
from ingot_issues.comments.api import comment_of
from ingot_issues.comments.store import CommentRow
from ingot_issues.reactions import store
from ingot_issues.reactions.store import ReactionRow
from ingot_issues.records.rules.presenter import Presenter
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.issues import IssueRow
from ingot_issues.records.store.timeline import CommentKind

TO_ISSUE = "/issues/{index:int}/reactions"
TO_COMMENT = "/issues/comments/{comment_id:int}/reactions"


class EditReaction(msgspec.Struct):
    content: ReactionContent


class Reaction(msgspec.Struct):
    user: User
    content: str
    created_at: datetime


UNCHANGED = {200: response_spec(Reaction, "It was so already")}


def _present(presenter: Presenter, row: ReactionRow, people: People) -> Reaction:
    user = presenter.user(people.get(row.account_id))
    return Reaction(user=user, content=row.content, created_at=row.created_at.replace(microsecond=0))


async def _list_page(
    request: IssuesRequest, issue_id: int, comment_id: int | None
) -> Response[list[Reaction]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, issue_id, comment_id, page)
        people = await accounts.get_people(db, (row.account_id for row in rows))
    presenter = request.presenter
    page_reactions = [_present(presenter, row, people) for row in rows]
    return Response(page_reactions, headers=request.page_headers(page, total))


async def _add(
    request: IssuesRequest, issue_id: int, comment_id: int | None, content: str, *, author_id: int
) -> Response[Reaction]:
    """Add a reaction. Status 200 if the caller already has it, else 201.

    Raises Denied on a locked issue, and for blocked callers.
    """
    issue = await _open_conversation(request, issue_id)
    await request.require_unblocked(issue.author_id, author_id)
    context = await request.context()
    async with request.db.transaction() as tx:
        await context.lock(tx, issue_id)
        if comment_id is not None and not await comments.list_by_id(tx, [comment_id]):
            raise NotFound
        former = await store.get(tx, issue_id, comment_id, context.actor_id, content)
        row = former or await store.add(tx, issue_id, comment_id, context.actor_id, content)
        people = await accounts.get_people(tx, [context.actor_id])
    if row is None:
        raise NotFound
    status = 201 if former is None else 200
    return Response(_present(request.presenter, row, people), status_code=status)


async def _remove(request: IssuesRequest, issue_id: int, comment_id: int | None, content: str) -> None:
    await _open_conversation(request, issue_id)
    context = await request.context()
    async with request.db.transaction() as tx:
        await context.lock(tx)
        await store.remove(tx, issue_id, comment_id, context.actor_id, content)


async def _open_conversation(request: IssuesRequest, issue_id: int) -> IssueRow:
    """Return the issue. Raises NotFound, and Denied if it is locked and the caller may not write."""
    async with request.db.read() as db:
        issue = await issue_rows.get_by_id(db, issue_id)
    if issue is None:
        raise NotFound
    locked = issue.locked
    if not await request.allowed(lambda access: may_comment(access, locked=locked)):
        raise Denied("the conversation is locked")
    return issue


async def _written_comment(request: IssuesRequest, comment_id: int) -> CommentRow:
    """Return a comment written by a person. Raises NotFound for other rows of a timeline."""
    row = await comment_of(request, comment_id)
    if row.kind != CommentKind.COMMENT:
        raise NotFound
    return row


@get(
    TO_ISSUE,
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueGetIssueReactions",
    tags=["issue"],
)
async def list_issue_reactions(request: IssuesRequest, index: int) -> Response[list[Reaction]]:
    """List reactions to an issue, the oldest first."""
    return await _list_page(request, await issue_id_of(request, index), None)


@post(
    TO_ISSUE,
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issuePostIssueReaction",
    tags=["issue"],
    status_code=201,
    responses=UNCHANGED,
)
async def add_issue_reaction(request: IssuesRequest, index: int, data: EditReaction) -> Response[Reaction]:
    """React to an issue. Only writers may react to a locked issue."""
    issue = await issue_row_of(request, index)
    return await _add(request, issue.id, None, data.content, author_id=issue.author_id)


@delete(
    TO_ISSUE,
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueDeleteIssueReaction",
    tags=["issue"],
    status_code=204,
)
async def remove_issue_reaction(request: IssuesRequest, index: int, data: EditReaction) -> None:
    """Remove a reaction of the caller. A missing reaction is not an error."""
    await _remove(request, await issue_id_of(request, index), None, data.content)


@get(
    TO_COMMENT,
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueGetCommentReactions",
    tags=["issue"],
)
async def list_comment_reactions(request: IssuesRequest, comment_id: int) -> Response[list[Reaction]]:
    """List reactions to a comment, the oldest first."""
    comment = await _written_comment(request, comment_id)
    return await _list_page(request, comment.issue_id, comment.id)


@post(
    TO_COMMENT,
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issuePostCommentReaction",
    tags=["issue"],
    status_code=201,
    responses=UNCHANGED,
)
async def add_comment_reaction(
    request: IssuesRequest, comment_id: int, data: EditReaction
) -> Response[Reaction]:
    """React to a comment. On a locked issue only writers may react."""
    comment = await _written_comment(request, comment_id)
    return await _add(request, comment.issue_id, comment.id, data.content, author_id=comment.author_id)


@delete(
    TO_COMMENT,
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueDeleteCommentReaction",
    tags=["issue"],
    status_code=204,
)
async def remove_comment_reaction(request: IssuesRequest, comment_id: int, data: EditReaction) -> None:
    """Remove a reaction of the caller. A missing reaction is not an error."""
    comment = await _written_comment(request, comment_id)
    await _remove(request, comment.issue_id, comment.id, data.content)


class RepositoryReaction(Reaction, kw_only=True):
    """A reaction to the issue ``number``, or to its comment ``comment_id``."""

    id: int
    number: int
    comment_id: int | None


@get(
    "/issues/reactions",
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueListReactions",
    tags=["issue"],
)
async def list_repository_reactions(
    request: IssuesRequest, issues: list[str] | None = None, comments: list[str] | None = None
) -> Response[list[RepositoryReaction]]:
    """List reactions to several issues, pull requests and comments, the oldest first.

    ``issues`` are numbers and ``comments`` are ids, at most 50 of each, repeated or separated by commas.
    """
    numbers, _ = queries.ids_and_names("issues", issues)
    comment_ids, _ = queries.ids_and_names("comments", comments)
    access, page = request.access, request.page()
    kinds = [kind for kind, shown in ((False, access.issues_enabled), (True, access.pulls_enabled)) if shown]
    async with request.db.read() as db:
        rows, total = await store.list_of(
            db, request.repository_id, page, numbers=numbers, comment_ids=comment_ids, kinds=kinds
        )
        people = await accounts.get_people(db, (row.account_id for row in rows))
    listed = [
        RepositoryReaction(
            id=row.id,
            number=row.number,
            comment_id=row.comment_id,
            user=request.presenter.user(people.get(row.account_id)),
            content=row.content,
            created_at=row.created_at.replace(microsecond=0),
        )
        for row in rows
    ]
    return Response(listed, headers=request.page_headers(page, total))


@get(
    "/issues/{index:int}/reactions/counts",
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueCountReactions",
    tags=["issue"],
)
async def count_reactions(request: IssuesRequest, index: int) -> Response[list[ReactionCount]]:
    """Count the reactions to an issue and its comments by content.

    Returns all unless `page` or `limit` is given.
    """
    issue_id, page = await issue_id_of(request, index), request.page()
    is_paged = "page" in request.query_params or "limit" in request.query_params
    counts, total = await counts_of(request, issue_id, page if is_paged else None)
    return Response(counts, headers=request.page_headers(page, total) if is_paged else None)


async def counts_of(
    request: IssuesRequest, issue_id: int, page: Page | None = None
) -> tuple[list[ReactionCount], int]:
    """Return a page of reaction counts of an issue, and their number. Without ``page`` return all."""
    async with request.db.read() as db:
        rows, total = await store.count_of_issue(db, issue_id, viewer_id=request.principal.id, page=page)
    return [ReactionCount(row.comment_id, row.content, row.count, bool(row.own)) for row in rows], total


routes = [
    list_issue_reactions, add_issue_reaction, remove_issue_reaction,
    list_comment_reactions, add_comment_reaction, remove_comment_reaction,
    list_repository_reactions, count_reactions,
]  # fmt: skip
