"""What was said and done about an issue, in order."""

from datetime import datetime
from typing import Any

import msgspec
from litestar import Response, get

from ingot_chassis.policy import resource
from ingot_contracts.identity import User
from ingot_contracts.issues import Comment, Issue, Label, Milestone, TrackedTime
from ingot_issues.api import queries
from ingot_issues.api.call import Call
from ingot_issues.core.views import Viewing
from ingot_issues.store import comments, issues, labels, milestones, repositories, times
from ingot_issues.store.comments import CommentRow, details_of
from ingot_issues.store.surroundings import Surroundings, people

TYPES = {
    comments.PLAIN: "comment",
    comments.REOPENED: "reopen",
    comments.CLOSED: "close",
    comments.ISSUE_REF: "issue_ref",
    comments.COMMIT_REF: "commit_ref",
    comments.COMMENT_REF: "comment_ref",
    comments.PULL_REF: "pull_ref",
    comments.LABEL: "label",
    comments.MILESTONE: "milestone",
    comments.ASSIGNEES: "assignees",
    comments.TITLE: "change_title",
    comments.BRANCH_DELETED: "delete_branch",
    comments.TIME_ADDED: "add_time_manual",
    comments.DUE_SET: "added_deadline",
    comments.DUE_CHANGED: "modified_deadline",
    comments.DUE_UNSET: "removed_deadline",
    comments.LOCKED: "lock",
    comments.UNLOCKED: "unlock",
    comments.BASE_CHANGED: "change_target_branch",
    comments.MERGED: "merge_pull",
    comments.PUSHED: "pull_push",
}


class TimelineComment(msgspec.Struct, kw_only=True):
    """``type`` says what happened, and which of the other fields are filled."""

    id: int
    type: str
    html_url: str
    pull_request_url: str
    issue_url: str
    user: User
    body: str
    created_at: datetime
    updated_at: datetime
    old_milestone: Milestone | None = None
    milestone: Milestone | None = None
    tracked_time: TrackedTime | None = None
    old_title: str = ""
    new_title: str = ""
    old_ref: str = ""
    new_ref: str = ""
    ref_issue: Issue | None = None
    ref_comment: Comment | None = None
    ref_action: str = ""
    ref_commit_sha: str = ""
    label: Label | None = None
    assignee: User | None = None
    removed_assignee: bool = False
    assignee_team: None = None
    resolve_doer: None = None
    dependent_issue: None = None
    project_id: int = 0
    old_project_id: int = 0
    review_id: int = 0


class Mentioned(msgspec.Struct):
    """The rows that a page of a timeline speaks of, by id. Where one is missing, it was deleted since."""

    labels: dict[int, Any]
    milestones: dict[int, Any]
    times: dict[int, Any]
    issues: dict[int, Any]
    comments: dict[int, Any]
    repositories: dict[int, Any]
    around: Surroundings

    @classmethod
    async def by(cls, db: Any, rows: list[CommentRow]) -> "Mentioned":
        """In a number of statements that does not depend on how many rows there are."""
        told = [details_of(row) for row in rows]
        commented = await comments.list_by_id(db, _wanted(row.ref_comment_id for row in rows))
        referring = await issues.list_whole(db, _wanted(row.ref_issue_id for row in rows))
        assigned = (one.assignee for one in told)
        around = Surroundings.of(referring)
        shown = await people(
            db,
            _wanted([*assigned, *(row.author_id for row in rows), *(row.author_id for row in commented)]),
        )
        around.accounts |= shown.accounts
        return cls(
            labels=await labels.get_many(db, _wanted(one.label for one in told)),
            milestones=await milestones.get_many(
                db, _wanted([*(one.milestone for one in told), *(one.old_milestone for one in told)])
            ),
            times=await times.get_many(db, _wanted(one.time for one in told)),
            issues={row.id: row for row in referring},
            comments={row.id: row for row in commented},
            repositories=await repositories.get_many(db, _wanted(row.ref_repository_id for row in rows)),
            around=around,
        )


def _wanted(ids: Any) -> list[int]:
    return sorted({found for found in ids if found})


@get(
    "/issues/{index:int}/timeline",
    policy=resource("read", "read:issue"),
    unit="issues",
    operation_id="issueGetCommentsAndTimeline",
    tags=["issue"],
)
async def list_timeline(
    request: Call, index: int, since: str = "", before: str = ""
) -> Response[list[TimelineComment]]:
    """Comments and what happened, oldest first. What refers to it from elsewhere is for who may read there."""
    issue, page = await request.issue(index), request.page()
    async with request.db.read() as db:
        referring = set(await comments.referring_repositories(db, issue.id))
    elsewhere = referring - {request.repository_id}
    visible = await request.repos.seen(elsewhere, request.statement) if elsewhere else set()
    async with request.db.read() as db:
        rows, total = await comments.timeline(
            db,
            issue.id,
            page,
            visible=visible | {request.repository_id},
            since=queries.moment(since),
            before=queries.moment(before),
        )
        mentioned = await Mentioned.by(db, rows)
    shown = [_view(request, row, mentioned) for row in rows]
    return Response(shown, headers=request.page_headers(page, total))


def _view(request: Call, row: CommentRow, mentioned: Mentioned) -> TimelineComment:
    viewing, repository = request.viewing, request.access.repository
    plain = viewing.comment(row, repository, mentioned.around)
    told = details_of(row)
    label = mentioned.labels.get(told.label)
    time = mentioned.times.get(told.time)
    milestone, old_milestone = (
        mentioned.milestones.get(found) for found in (told.milestone, told.old_milestone)
    )
    return TimelineComment(
        id=row.id,
        type=TYPES[row.kind],
        html_url=plain.html_url,
        pull_request_url=plain.pull_request_url,
        issue_url=plain.issue_url,
        user=plain.user,
        body=row.body,
        created_at=row.created_at,
        updated_at=row.updated_at,
        old_milestone=viewing.milestone(old_milestone) if old_milestone is not None else None,
        milestone=viewing.milestone(milestone) if milestone is not None else None,
        tracked_time=viewing.time(time) if time is not None else None,
        old_title=told.old_title,
        new_title=told.new_title,
        old_ref=told.old_ref,
        new_ref=told.new_ref,
        ref_action=told.action if row.ref_repository_id else "",
        ref_commit_sha=row.ref_sha or "",
        label=viewing.label(label, repository) if label is not None else None,
        assignee=viewing.user(told.assignee, mentioned.around) if told.assignee else None,
        removed_assignee=bool(told.assignee) and told.removed,
        **_reference(viewing, row, mentioned, request),
    )


def _reference(viewing: Viewing, row: CommentRow, mentioned: Mentioned, request: Call) -> dict[str, Any]:
    """What refers to the issue, in its own repository, unless its unit is off there."""
    own = row.ref_repository_id == request.repository_id
    at = request.access.repository if own else mentioned.repositories.get(row.ref_repository_id)
    issue, comment = mentioned.issues.get(row.ref_issue_id), mentioned.comments.get(row.ref_comment_id)
    if at is None or issue is None:
        return {}
    pulls_enabled = request.access.pulls_enabled if own else at.has_pull_requests
    if not (pulls_enabled if issue.is_pull else at.has_issues):
        return {}
    return {
        "ref_issue": viewing.issue(issue, at, mentioned.around),
        "ref_comment": viewing.comment(comment, at, mentioned.around) if comment is not None else None,
    }


routes = [list_timeline]
