"""The timeline of an issue: its comments and events, in order."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from litestar import Response, get

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import Invalid
from ingot_chassis.http.paging import Page
from ingot_chassis.http.policy import MAX_ID
from ingot_contracts.identity.teams import Team
from ingot_contracts.issues.timelines import TimelineComment, TimelineType
from ingot_contracts.repos.repositories import Repository, RepositoryAccess
from ingot_issues.access.api import queries
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.records import issue_id_of
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.accounts import store as accounts
from ingot_issues.accounts.store import People
from ingot_issues.comments import store as comments
from ingot_issues.comments.rules.views import comment_view
from ingot_issues.comments.store import CommentRow, details_of
from ingot_issues.issues.rules.views import issue_view
from ingot_issues.issues.store import lists as searches
from ingot_issues.issues.store.details import IssueDetails
from ingot_issues.labels.rules.views import label_view
from ingot_issues.labels.store import repository as labels
from ingot_issues.labels.store.repository import LabelRow
from ingot_issues.milestones import store as milestones
from ingot_issues.milestones.rules import milestone_view
from ingot_issues.milestones.store import MilestoneRow
from ingot_issues.records.rules.presenter import Presenter
from ingot_issues.records.store.timeline import CommentKind
from ingot_issues.repositories.store import copies as repositories
from ingot_issues.reviewers.rules import requested_team
from ingot_issues.reviewers.store import teams
from ingot_issues.times.rules.tracked import time_view
from ingot_issues.times.store import tracked as times
from ingot_issues.times.store.tracked import TimeRow

TYPES: dict[CommentKind, TimelineType] = {
    CommentKind.COMMENT: "comment",
    CommentKind.REOPENED: "reopen",
    CommentKind.CLOSED: "close",
    CommentKind.ISSUE_REFERENCE: "issue_ref",
    CommentKind.COMMIT_REFERENCE: "commit_ref",
    CommentKind.COMMENT_REFERENCE: "comment_ref",
    CommentKind.PULL_REFERENCE: "pull_ref",
    CommentKind.LABEL: "label",
    CommentKind.MILESTONE: "milestone",
    CommentKind.ASSIGNEES: "assignees",
    CommentKind.TITLE: "change_title",
    CommentKind.BRANCH_DELETED: "delete_branch",
    CommentKind.TRACKING_STARTED: "start_tracking",
    CommentKind.TRACKING_STOPPED: "stop_tracking",
    CommentKind.TRACKING_CANCELLED: "cancel_tracking",
    CommentKind.TIME_ADDED: "add_time_manual",
    CommentKind.DUE_DATE_SET: "added_deadline",
    CommentKind.DUE_DATE_CHANGED: "modified_deadline",
    CommentKind.DUE_DATE_REMOVED: "removed_deadline",
    CommentKind.DEPENDENCY_ADDED: "add_dependency",
    CommentKind.DEPENDENCY_REMOVED: "remove_dependency",
    CommentKind.REVIEW: "review",
    CommentKind.LOCKED: "lock",
    CommentKind.UNLOCKED: "unlock",
    CommentKind.BASE_CHANGED: "change_target_branch",
    CommentKind.TIME_DELETED: "delete_time_manual",
    CommentKind.REVIEW_REQUESTED: "review_request",
    CommentKind.MERGED: "merge_pull",
    CommentKind.COMMITS_ADDED: "pull_push",
    CommentKind.REVIEW_DISMISSED: "dismiss_review",
    CommentKind.REF: "change_issue_ref",
    CommentKind.MERGE_SCHEDULED: "pull_scheduled_merge",
    CommentKind.MERGE_CANCELLED: "pull_cancel_scheduled_merge",
    CommentKind.PINNED: "pin",
    CommentKind.UNPINNED: "unpin",
}
"""The API name of each kind of row."""


class RelatedRows(msgspec.Struct):
    """Rows to which a page of a timeline refers, by id. Deleted rows are omitted."""

    labels: dict[int, LabelRow]
    milestones: dict[int, MilestoneRow]
    times: dict[int, TimeRow]
    issues: dict[int, IssueDetails]
    comments: dict[int, CommentRow]
    repositories: dict[int, Repository]
    people: People
    teams: dict[int, Team]

    @classmethod
    async def load(cls, db: Executor, rows: Sequence[CommentRow]) -> "RelatedRows":
        """Load the related rows. The number of statements does not depend on the number of rows."""
        details = [details_of(row) for row in rows]
        related_comments = await comments.list_by_id(db, _ids(row.ref_comment_id for row in rows))
        account_ids = [
            *(one.assignee for one in details),
            *(row.author_id for row in rows),
            *(row.author_id for row in related_comments),
        ]
        milestone_ids = [*(one.milestone for one in details), *(one.old_milestone for one in details)]
        return cls(
            labels=await labels.get_many(db, _ids(one.label for one in details)),
            milestones=await milestones.get_many(db, _ids(milestone_ids)),
            times=await times.get_many(db, _ids(one.time for one in details)),
            issues={
                row.id: row for row in await searches.list_details(db, _ids(row.ref_issue_id for row in rows))
            },
            comments={row.id: row for row in related_comments},
            repositories=await repositories.get_many(db, _ids(row.ref_repository_id for row in rows)),
            people=await accounts.get_people(db, _ids(account_ids)),
            teams=await teams.get_many(db, _ids(one.team for one in details)),
        )


def _ids(ids: Iterable[int | None]) -> list[int]:
    """Return the distinct ids in order, without 0 and None."""
    return sorted({number for number in ids if number})


@get(
    "/issues/{index:int}/timeline",
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueGetCommentsAndTimeline",
    tags=["issue"],
)
async def list_timeline(
    request: IssuesRequest, index: int, since: str = "", before: str = "", up_to: int = 0
) -> Response[list[TimelineComment]]:
    """List comments and events, oldest first. References from repositories that you cannot read are omitted.

    `up_to` ends the list at the entry with this id, so `X-Total-Count` is its position.
    """
    if abs(up_to) > MAX_ID:
        raise Invalid.field("up_to", "range", "is no id")
    issue_id, page = await issue_id_of(request, index), request.page()
    rows, total = await timeline_page(
        request, issue_id, page, since=queries.moment(since), before=queries.end(before), up_to=up_to
    )
    return Response(rows, headers=request.page_headers(page, total))


async def timeline_page(
    request: IssuesRequest,
    issue_id: int,
    page: Page,
    *,
    since: datetime | None = None,
    before: datetime | None = None,
    up_to: int = 0,
) -> tuple[list[TimelineComment], int]:
    """Return a page of the timeline as the caller may see it, and the number of all its rows."""
    visible = await _visible_repositories(request, issue_id)
    async with request.db.read() as db:
        rows, total = await comments.list_timeline_page(
            db, issue_id, page, visible=visible, since=since, before=before, up_to=up_to
        )
        related = await RelatedRows.load(db, rows)
    presenter = request.presenter
    return [_present(request.access, presenter, row, related) for row in rows], total


@get(
    "/issues/{index:int}/timeline/ids",
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueListTimelineIds",
    tags=["issue"],
)
async def list_timeline_ids(request: IssuesRequest, index: int) -> list[int]:
    """List the ids of comments and events, oldest first: the latest 2,000 at most."""
    issue_id = await issue_id_of(request, index)
    visible = await _visible_repositories(request, issue_id)
    async with request.db.read() as db:
        return await comments.list_timeline_ids(db, issue_id, visible=visible)


async def _visible_repositories(request: IssuesRequest, issue_id: int) -> set[int]:
    """Return the ids of repositories whose references to the issue the caller may see."""
    async with request.db.read() as db:
        referring = await comments.list_referring_repositories(db, issue_id)
    others = referring - {request.repository_id}
    readable = await request.components.repos.readable(others, request.principal_token)
    return {*readable.entire, request.repository_id}


def _present(
    access: RepositoryAccess, presenter: Presenter, row: CommentRow, related: RelatedRows
) -> TimelineComment:
    repository, details = access.repository, details_of(row)
    comment = comment_view(presenter, row, repository, related.people)
    label, team = related.labels.get(details.label), related.teams.get(details.team)
    time = related.times.get(details.time)
    milestone = related.milestones.get(details.milestone)
    old_milestone = related.milestones.get(details.old_milestone)
    assignee = presenter.user(related.people.get(details.assignee)) if details.assignee else None
    return TimelineComment(
        id=row.id,
        type=TYPES[row.kind],
        html_url=comment.html_url,
        pull_request_url=comment.pull_request_url,
        issue_url=comment.issue_url,
        user=comment.user,
        original_author=comment.original_author,
        original_author_id=comment.original_author_id,
        body=row.body,
        created_at=comment.created_at,
        updated_at=comment.updated_at,
        old_milestone=milestone_view(old_milestone) if old_milestone is not None else None,
        milestone=milestone_view(milestone) if milestone is not None else None,
        tracked_time=time_view(time) if time is not None else None,
        old_title=details.old_title,
        new_title=details.new_title,
        old_ref=details.old_ref,
        new_ref=details.new_ref,
        ref_action=details.action if row.ref_repository_id else "",
        ref_commit_sha=row.ref_sha or "",
        label=label_view(presenter, label, repository.full_name) if label is not None else None,
        assignee=assignee,
        assignee_team=requested_team(team) if team is not None else None,
        removed_assignee=bool(details.assignee or details.team) and details.removed,
        review_id=details.review,
        **_reference(access, presenter, row, related),
    )


def _reference(
    access: RepositoryAccess, presenter: Presenter, row: CommentRow, related: RelatedRows
) -> dict[str, Any]:
    """Return the fields about the referring text; none if its unit is disabled in its repository."""
    own = row.ref_repository_id == access.repository.id
    repository = access.repository if own else related.repositories.get(row.ref_repository_id or 0)
    issue, comment = related.issues.get(row.ref_issue_id or 0), related.comments.get(row.ref_comment_id or 0)
    if repository is None or issue is None:
        return {}
    is_on = (repository.has_issues, repository.has_pull_requests)
    if own:
        is_on = (access.issues_enabled, access.pulls_enabled)
    if not is_on[issue.is_pull]:
        return {}
    if row.kind in (CommentKind.DEPENDENCY_ADDED, CommentKind.DEPENDENCY_REMOVED):
        return {"dependent_issue": issue_view(presenter, issue, repository)}
    return {
        "ref_issue": issue_view(presenter, issue, repository),
        "ref_comment": comment_view(presenter, comment, repository, related.people)
        if comment is not None
        else None,
    }


routes = [list_timeline, list_timeline_ids]
