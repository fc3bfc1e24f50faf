"""Events of issues and pull requests."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.events import (
    Event,
    IssueAction,
    IssueChanged,
    IssueChanges,
    PullRequestAction,
    PullRequestChanged,
)
from ingot_issues.issues.rules.views import issue_view, pull_view
from ingot_issues.issues.store import details as issues
from ingot_issues.issues.store.details import IssueDetails, PullDetails
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.repositories.rules.announcements import emit

WITH_CHANGES: tuple[IssueAction, ...] = ("edited", "label_updated", "label_cleared")


async def announce(
    tx: Tx,
    context: RepositoryContext,
    issue_id: int,
    *actions: IssueAction | PullRequestAction,
    changes: IssueChanges | None = None,
) -> IssueDetails:
    """Announce a change of an issue or pull request, and return its current details. Raises NotFound."""
    issue = await issues.get_details_by_id(tx, issue_id, context.actor_id)
    if issue is None:
        raise NotFound
    sender = context.presenter.user(issue.viewer)
    for action in actions:
        _emit_action(tx, context, issue, action, sender, changes if action in WITH_CHANGES else None)
    return issue


def announce_opened(tx: Tx, context: RepositoryContext, issue: IssueDetails) -> None:
    """Announce a new issue with complete details. Its author is the actor."""
    _emit_action(tx, context, issue, "opened", context.presenter.user(issue.author), None)


def _emit_action(
    tx: Tx,
    context: RepositoryContext,
    issue: IssueDetails,
    action: IssueAction | PullRequestAction,
    sender: User,
    changes: IssueChanges | None,
) -> None:
    presenter, repository = context.presenter, context.presenter.repository(context.repository)
    event: Event
    if isinstance(issue, PullDetails):
        pull = pull_view(presenter, issue, repository)
        event = PullRequestChanged(
            action=action, pull_request=pull, repository=repository, sender=sender, changes=changes
        )
    elif action != "synchronized":
        shown = issue_view(presenter, issue, repository)
        event = IssueChanged(
            action=action, issue=shown, repository=repository, sender=sender, changes=changes
        )
    else:
        return
    emit(tx, event, repository.id)
