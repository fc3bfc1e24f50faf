"""Reviewing pull requests, and asking for reviews."""

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.identity import GHOST, Team, User
from ingot_contracts.issues import RequestedTeam, ReviewAction, ReviewChanged, ReviewRequested
from ingot_issues.core.events import announce_in_repository, emit
from ingot_issues.core.notifications import notify
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.core.scheduled_merges import wake
from ingot_issues.store import accounts, issue_rows, issues, teams
from ingot_issues.store import reviews as store
from ingot_issues.store.comments import CommentKind, Details
from ingot_issues.store.issues import PullDetails
from ingot_issues.store.reviews import DECISIONS, ReviewRow
from ingot_issues.store.states import ReviewState, State

NEW_HEAD = "approved an earlier head"
"""Why an approval is dismissed after a push."""


class NewComment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment on a line of the new file or, where ``old_position`` is not 0, of the old one."""

    path: str
    body: str
    old_position: int = 0
    new_position: int = 0
    diff_hunk: str = ""


class NewReview(msgspec.Struct, frozen=True, kw_only=True):
    """``official``: it counts for the protection of the base branch. ``commit_sha`` is what was looked at.

    ``team_ids`` are teams of its author, whose requests it answers if it decides.
    """

    state: ReviewState
    body: str
    commit_sha: str
    comments: list[NewComment] = []
    official: bool = False
    team_ids: list[int] = []


class NewRequests(msgspec.Struct, frozen=True, kw_only=True):
    """Who is to review. ``official_…``: the decisions of these will count for the protection of the base branch.

    ``member_ids`` are people in the teams. There are copies of all teams.
    """

    account_ids: list[int] = []
    official_ids: list[int] = []
    teams: list[Team] = []
    official_team_ids: list[int] = []
    member_ids: list[int] = []

    @property
    def team_ids(self) -> list[int]:
        return [team.id for team in self.teams]


async def write_review(
    tx: Tx, context: RepositoryContext, pull: PullDetails, new_review: NewReview
) -> ReviewRow:
    """Begin a review, or go on with the one that the actor has begun; submit it unless it stays pending.

    Raises Invalid.
    """
    await context.lock(tx, pull.id)
    review_id = await store.get_pending_id(tx, pull.id, context.actor_id)
    if review_id is None:
        review_id = await store.add(
            tx, pull.id, context.actor_id, ReviewState.PENDING, commit_sha=new_review.commit_sha
        )
    if new_review.comments:
        shared = {
            "review_id": review_id,
            "author_id": context.actor_id,
            "commit_sha": new_review.commit_sha,
        }
        rows = [shared | msgspec.structs.asdict(comment) for comment in new_review.comments]
        await store.add_comments(tx, rows)
    if new_review.state != ReviewState.PENDING:
        return await submit_review(tx, context, pull, review_id, new_review)
    values = {"body": new_review.body} if new_review.body else {}
    await store.change(tx, review_id, {**values, "commit_sha": new_review.commit_sha})
    return await _require(tx, pull.id, review_id)


async def submit_review(
    tx: Tx, context: RepositoryContext, pull: PullDetails, review_id: int, submission: NewReview
) -> ReviewRow:
    """Submit the pending review of the actor. Raises Invalid, or NotFound when there is no such review."""
    await context.lock(tx)
    row = await _require(tx, pull.id, review_id)
    if row.state != ReviewState.PENDING or row.author_id != context.actor_id:
        raise NotFound
    state, body = submission.state, submission.body or row.body
    if state in DECISIONS and context.actor_id == pull.author_id:
        raise Invalid.field("event", "own", "cannot decide about a pull request of one's own")
    if state in DECISIONS and pull.state != State.OPEN:
        raise Invalid.field("event", "closed", "cannot decide about a pull request that is closed")
    if state != ReviewState.APPROVED and not body.strip() and not row.comments:
        raise Invalid.field("body", "required", "is required")
    values = {
        "state": state,
        "body": body,
        "commit_sha": submission.commit_sha,
        "official": submission.official,
    }
    await store.change(tx, row.id, values)
    team_ids = submission.team_ids if state in DECISIONS else []
    await store.remove_requests(tx, pull.id, [context.actor_id], team_ids)
    await context.add_to_timeline(tx, pull.id, CommentKind.REVIEW, body, Details(review=row.id))
    await issue_rows.change(tx, pull.id)
    await notify(tx, context, pull.id, review_id=row.id)
    await wake(tx, context.jobs, [pull.id])
    return await _announce(tx, context, pull.id, row.id, "submitted")


async def dismiss_review(
    tx: Tx, context: RepositoryContext, pull: PullDetails, review_id: int, message: str, *, priors: bool
) -> ReviewRow:
    """A review that decided does not count any more; with ``priors`` nor do others of its author.

    Raises NotFound or Invalid.
    """
    await context.lock(tx)
    row = await _require_decision(tx, pull, review_id)
    if not row.dismissed:
        await store.change(tx, row.id, {"dismissed": True})
        details = Details(review=row.id)
        await context.add_to_timeline(tx, pull.id, CommentKind.REVIEW_DISMISSED, message, details)
    if priors:
        await store.dismiss_others(tx, pull.id, row.author_id, row.id)
    await wake(tx, context.jobs, [pull.id])
    return await _announce(tx, context, pull.id, row.id, "dismissed")


async def dismiss_approvals(tx: Tx, context: RepositoryContext, issue_id: int) -> None:
    """The head of a pull request has moved: what was approved before counts no more."""
    for review_id in await store.dismiss_approvals(tx, issue_id):
        details = Details(review=review_id)
        await context.add_to_timeline(tx, issue_id, CommentKind.REVIEW_DISMISSED, NEW_HEAD, details)
        await _announce(tx, context, issue_id, review_id, "dismissed")


async def restore_review(tx: Tx, context: RepositoryContext, pull: PullDetails, review_id: int) -> ReviewRow:
    """A review that was dismissed counts again. Raises NotFound or Invalid."""
    await context.lock(tx)
    row = await _require_decision(tx, pull, review_id)
    if row.dismissed:
        await store.change(tx, row.id, {"dismissed": False})
    await wake(tx, context.jobs, [pull.id])
    return await _announce(tx, context, pull.id, row.id, "undismissed")


async def delete_review(tx: Tx, context: RepositoryContext, pull: PullDetails, review_id: int) -> None:
    """Delete a review with its comments; nothing happens when it is deleted already."""
    await context.lock(tx)
    await store.remove(tx, review_id)
    await wake(tx, context.jobs, [pull.id])


async def _require_decision(tx: Tx, pull: PullDetails, review_id: int) -> ReviewRow:
    row = await _require(tx, pull.id, review_id)
    if row.state == ReviewState.PENDING:
        raise NotFound
    if row.state not in DECISIONS:
        raise Invalid.field("id", "state", "is a review that decides nothing")
    return row


async def _require(tx: Tx, issue_id: int, review_id: int) -> ReviewRow:
    row = await store.get(tx, issue_id, review_id)
    if row is None:
        raise NotFound
    return row


async def request_reviews(
    tx: Tx, context: RepositoryContext, pull: PullDetails, requests: NewRequests
) -> list[ReviewRow]:
    """Ask people and teams for a review; the requests. Nothing happens for those who were asked already.

    Nor does it for a team that was deleted meanwhile.
    """
    await context.lock(tx, pull.id)
    present_ids = await teams.keep(tx, requests.team_ids)
    former = await store.list_requests(tx, pull.id, requests.account_ids, requests.team_ids)
    former_ids = [row.author_id for row in former if row.team_id is None]
    former_team_ids = [row.team_id for row in former]
    added_ids = [one for one in requests.account_ids if one not in former_ids]
    added_teams = [
        team for team in requests.teams if team.id in present_ids and team.id not in former_team_ids
    ]
    for account_id in added_ids:
        official = account_id in requests.official_ids
        await _add_request(tx, context, pull, Details(assignee=account_id), official=official)
    for team in added_teams:
        await _add_request(
            tx, context, pull, Details(team=team.id), official=team.id in requests.official_team_ids
        )
    if added_ids or added_teams:
        await notify(tx, context, pull.id, also=requests.member_ids if added_teams else [])
    await _announce_requests(tx, context, pull, added_ids, added_teams, removed=False)
    return list(await store.list_requests(tx, pull.id, requests.account_ids, requests.team_ids))


async def _add_request(
    tx: Tx, context: RepositoryContext, pull: PullDetails, details: Details, *, official: bool
) -> None:
    """``details`` name the person or the team."""
    await store.add(
        tx,
        pull.id,
        details.assignee,
        ReviewState.REQUEST_REVIEW,
        commit_sha=pull.head_sha,
        official=official,
        team_id=details.team or None,
    )
    await context.add_to_timeline(tx, pull.id, CommentKind.REVIEW_REQUESTED, details=details)


async def withdraw_requests(
    tx: Tx, context: RepositoryContext, pull: PullDetails, account_ids: list[int], team_ids: list[int]
) -> None:
    """Ask people and teams for a review no longer; nothing happens for those who were not asked."""
    await context.lock(tx)
    removed_ids, removed_team_ids = await store.remove_requests(tx, pull.id, account_ids, team_ids)
    for details in (
        *(Details(assignee=account_id, removed=True) for account_id in removed_ids),
        *(Details(team=team_id, removed=True) for team_id in removed_team_ids),
    ):
        await context.add_to_timeline(tx, pull.id, CommentKind.REVIEW_REQUESTED, details=details)
    await wake(tx, context.jobs, [pull.id])
    removed_teams = list((await teams.get_many(tx, removed_team_ids)).values())
    await _announce_requests(tx, context, pull, removed_ids, removed_teams, removed=True)


async def _announce_requests(
    tx: Tx,
    context: RepositoryContext,
    pull: PullDetails,
    account_ids: list[int],
    team_copies: list[Team],
    *,
    removed: bool,
) -> None:
    if not account_ids and not team_copies:
        return
    await issue_rows.change(tx, pull.id)
    presenter, present = context.presenter, await _require_pull(tx, pull.id)
    repository = presenter.repository(context.repository)
    shown = presenter.pull(present, repository)
    people = await accounts.get_people(tx, [context.actor_id, *account_ids])
    reviewers: list[tuple[User, RequestedTeam | None]] = [
        *((presenter.user(people.get(account_id)), None) for account_id in account_ids),
        *((GHOST, presenter.team(team)) for team in team_copies),
    ]
    for reviewer, team in reviewers:
        event = ReviewRequested(
            removed=removed,
            reviewer=reviewer,
            team=team,
            pull_request=shown,
            repository=repository,
            sender=presenter.user(people.get(context.actor_id)),
        )
        emit(tx, event, context.repository.id)


async def _announce(
    tx: Tx, context: RepositoryContext, issue_id: int, review_id: int, action: ReviewAction
) -> ReviewRow:
    """Announce what happened to a review; the review as it is now."""
    row = await _require(tx, issue_id, review_id)
    pull = await _require_pull(tx, issue_id)
    shown = context.presenter.pull(pull, context.presenter.repository(context.repository))
    people = await accounts.get_people(tx, [row.author_id])
    review = context.presenter.review(row, pull, context.repository, people)
    await announce_in_repository(
        tx,
        context,
        lambda repository, sender: ReviewChanged(
            action=action, review=review, pull_request=shown, repository=repository, sender=sender
        ),
    )
    return row


async def _require_pull(tx: Tx, issue_id: int) -> PullDetails:
    """As it is now. Raises NotFound."""
    details = await issues.get_details_by_id(tx, issue_id)
    if not isinstance(details, PullDetails):
        raise NotFound
    return details
