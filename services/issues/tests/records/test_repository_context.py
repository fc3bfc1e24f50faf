"""Use cases about an issue that was deleted after it was read: nothing of it is there to be found."""

import pytest

from ingot_chassis.errors import NotFound
from ingot_issues.comments.rules import writing as comments
from ingot_issues.dependencies import rules as dependencies
from ingot_issues.issues.rules import editing as issues
from ingot_issues.issues.rules import labels as issue_labels
from ingot_issues.issues.rules import pins
from ingot_issues.issues.rules.editing import IssueEdit
from ingot_issues.issues.store import details as store
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.presenter import Presenter
from ingot_issues.records.rules.targets import ReviewTarget
from ingot_issues.reviewers.store.states import ReviewState
from ingot_issues.reviews.rules import submission as reviews
from ingot_issues.reviews.rules.submission import NewRequests, NewReview
from ingot_issues.times.rules import stopwatches
from ingot_issues.times.rules import tracked as times

from ..builders import APP, HEAD, repository


async def test_a_deleted_issue_is_not_found_by_who_read_it_before(world):
    await world.create_label()
    for _ in range(2):
        await world.open_issue()
    await world.propose()
    async with world.db.read() as db:
        issue, other, pull = [await store.get_details(db, APP, number) for number in (1, 2, 3)]
    for number in (1, 3):
        assert (await world.call("DELETE", f"/issues/{number}")).status_code == 204
    context = RepositoryContext(repository(), 1, Presenter("http://x"), world.components.jobs)
    target = ReviewTarget(HEAD, "main", HEAD)
    comment = NewReview(state=ReviewState.COMMENT, body="x", target=target)
    for use_case in (
        lambda tx: pins.pin_issue(tx, context, issue),
        lambda tx: pins.unpin_issue(tx, context, issue),
        lambda tx: pins.move_pin(tx, context, issue, 1),
        lambda tx: times.add_time(tx, context, issue, 60),
        lambda tx: stopwatches.start_stopwatch(tx, context, issue),
        lambda tx: comments.write_comment(tx, context, issue, "x", []),
        lambda tx: dependencies.add_dependency(tx, context, issue, other, on=other),
        lambda tx: dependencies.add_dependency(tx, context, other, issue, on=other),
        lambda tx: issue_labels.add_to_issue(tx, context, issue, [1], []),
        lambda tx: issue_labels.replace_on_issue(tx, context, issue, [1], []),
        lambda tx: issues.edit_issue(tx, context, issue, IssueEdit(title="y")),
        lambda tx: reviews.write_review(tx, context, pull, comment),
        lambda tx: reviews.request_reviews(tx, context, pull, NewRequests(account_ids=[3])),
    ):
        with pytest.raises(NotFound):
            async with world.db.transaction() as tx:
                await use_case(tx)
