"""Reviews of pull requests, and requests for reviews."""

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.identity.accounts import GHOST, User
from ingot_contracts.identity.teams import Team
from ingot_contracts.issues.events import ReviewAction, ReviewChanged, ReviewRequested
from ingot_contracts.issues.pulls import RequestedTeam
from ingot_issues.accounts import store as accounts
from ingot_issues.issues.rules.views import pull_view
from ingot_issues.issues.store import details as issues
from ingot_issues.issues.store.details import PullDetails
from ingot_issues.records.rules.announcements import announce_in_repository
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.notices import notify
from ingot_issues.records.rules.targets import ReviewTarget, present_target
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.states import State
from ingot_issues.records.store.timeline import CommentKind, Details
from ingot_issues.repositories.rules.announcements import emit
from ingot_issues.reviewers.rules import requested_team
from ingot_issues.reviewers.store import teams
from ingot_issues.reviewers.store.states import ReviewState
from ingot_issues.reviews import store
from ingot_issues.reviews.rules.views import review_view
from ingot_issues.reviews.store import DECISIONS, ReviewRow
from ingot_issues.scheduled_merges.rules.scheduling import wake

NEW_HEAD = "approved an earlier head"
"""The reason for dismissing an approval when a push has moved the head."""
NEW_BASE = "approved for another base branch"
"""The reason for dismissing an approval when the base branch was changed."""


class NewComment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment on a line of the old file if ``old_position`` is not 0, else of the new file."""

    path: str
    body: str
    old_position: int = 0
    new_position: int = 0
    diff_hunk: str = ""


class NewReview(msgspec.Struct, frozen=True, kw_only=True):
    """A new review. ``official``: it counts for the protection of the base branch. ``target``: its changes.

    ``team_ids`` are the author's teams: a decision also answers the requests to them.
    """

    state: ReviewState
    body: str
    target: ReviewTarget
    comments: list[NewComment] = []
    official: bool = False
    team_ids: list[int] = []


class NewRequests(msgspec.Struct, frozen=True, kw_only=True):
    """New requests for reviews.

    ``official_…``: decisions of these reviewers will count for the protection of the base branch.
    ``member_ids`` are members of the teams. All teams have copies.
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
    """Create a review, or continue the actor's pending review. Submit it unless it stays pending.

    Raises Invalid.
    """
    await context.lock(tx, pull.id)
    review_id = await store.get_pending_id(tx, pull.id, context.actor_id)
    if review_id is None:
        review_id = await store.add(
            tx, pull.id, context.actor_id, ReviewState.PENDING, target=new_review.target
        )
    if new_review.comments:
        shared = {
            "review_id": review_id,
            "author_id": context.actor_id,
            "commit_sha": new_review.target.commit_sha,
        }
        rows = [shared | msgspec.structs.asdict(comment) for comment in new_review.comments]
        await store.add_comments(tx, rows)
    if new_review.state != ReviewState.PENDING:
        return await submit_review(tx, context, pull, review_id, new_review)
    values = {"body": new_review.body} if new_review.body else {}
    await store.change(tx, review_id, values | store.target_values(new_review.target))
    return await _require(tx, pull.id, review_id)


async def submit_review(
    tx: Tx, context: RepositoryContext, pull: PullDetails, review_id: int, submission: NewReview
) -> ReviewRow:
    """Submit the pending review of the actor. Raises Invalid, or NotFound if there is none."""
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
        **store.target_values(submission.target),
        "official": submission.official,
    }
    await store.change(tx, row.id, values)
    # The reviewers of a stale decision were asked about the present changes.
    if state not in DECISIONS:
        await store.remove_requests(tx, pull.id, [context.actor_id])
    elif submission.target == present_target(await _require_pull(tx, pull.id)):
        await store.remove_requests(tx, pull.id, [context.actor_id], submission.team_ids)
    await context.add_to_timeline(tx, pull.id, CommentKind.REVIEW, body, Details(review=row.id))
    await issue_rows.change(tx, pull.id)
    await notify(tx, context, pull.id, review_id=row.id)
    await wake(tx, context.jobs, [pull.id])
    return await _announce(tx, context, pull.id, row.id, "submitted")


async def dismiss_review(
    tx: Tx, context: RepositoryContext, pull: PullDetails, review_id: int, message: str, *, priors: bool
) -> ReviewRow:
    """Dismiss a decision. ``priors``: also dismiss its author's earlier decisions.

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


async def dismiss_stale_approvals(tx: Tx, context: RepositoryContext, issue_id: int, reason: str) -> None:
    """Dismiss approvals of changes that differ from the changes of a merge now. Raises NotFound."""
    target = present_target(await _require_pull(tx, issue_id))
    for review_id in await store.dismiss_stale_approvals(tx, issue_id, target):
        details = Details(review=review_id)
        await context.add_to_timeline(tx, issue_id, CommentKind.REVIEW_DISMISSED, reason, details)
        await _announce(tx, context, issue_id, review_id, "dismissed")


async def restore_review(tx: Tx, context: RepositoryContext, pull: PullDetails, review_id: int) -> ReviewRow:
    """Restore a dismissed review, so it counts again. Raises NotFound or Invalid."""
    await context.lock(tx)
    row = await _require_decision(tx, pull, review_id)
    if row.dismissed:
        await store.change(tx, row.id, {"dismissed": False})
    await wake(tx, context.jobs, [pull.id])
    return await _announce(tx, context, pull.id, row.id, "undismissed")


async def delete_review(tx: Tx, context: RepositoryContext, pull: PullDetails, review_id: int) -> None:
    """Delete a review with its comments. Ignore a review that is already deleted."""
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
    """Request reviews from people and teams, and return the new requests.

    Existing requests and deleted teams are skipped.
    """
    await context.lock(tx, pull.id)
    present_ids = await teams.lock_existing(tx, requests.team_ids)
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
    """Add a request to the person or team in ``details``."""
    await store.add(
        tx,
        pull.id,
        details.assignee,
        ReviewState.REQUEST_REVIEW,
        target=present_target(pull),
        official=official,
        team_id=details.team or None,
    )
    await context.add_to_timeline(tx, pull.id, CommentKind.REVIEW_REQUESTED, details=details)


async def withdraw_requests(
    tx: Tx, context: RepositoryContext, pull: PullDetails, account_ids: list[int], team_ids: list[int]
) -> None:
    """Withdraw requests to people and teams. Missing requests are ignored."""
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
    shown = pull_view(presenter, present, repository)
    people = await accounts.get_people(tx, [context.actor_id, *account_ids])
    reviewers: list[tuple[User, RequestedTeam | None]] = [
        *((presenter.user(people.get(account_id)), None) for account_id in account_ids),
        *((GHOST, requested_team(team)) for team in team_copies),
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
    """Announce a change of a review, and return its row."""
    row = await _require(tx, issue_id, review_id)
    pull = await _require_pull(tx, issue_id)
    shown = pull_view(context.presenter, pull, context.presenter.repository(context.repository))
    people = await accounts.get_people(tx, [row.author_id])
    review = review_view(context.presenter, row, pull, context.repository, people)
    await announce_in_repository(
        tx,
        context,
        lambda repository, sender: ReviewChanged(
            action=action, review=review, pull_request=shown, repository=repository, sender=sender
        ),
    )
    return row


async def _require_pull(tx: Tx, issue_id: int) -> PullDetails:
    """Return the current pull request. Raises NotFound."""
    details = await issues.get_details_by_id(tx, issue_id)
    if not isinstance(details, PullDetails):
        raise NotFound
    return details
