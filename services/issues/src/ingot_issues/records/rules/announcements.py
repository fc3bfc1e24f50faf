"""Events of a repository whose sender is the actor: labels, milestones, times and reviews."""

from collections.abc import Callable
from typing import Literal

from ingot_chassis.db.transaction import Tx
from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.events import Event
from ingot_contracts.repos.repositories import Repository
from ingot_issues.accounts import store as accounts
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.repositories.rules.announcements import emit

MakeEvent = Callable[[Repository, User], Event]
"""Returns an event of the given repository and sender."""
Action = Literal["created", "edited", "deleted"]


async def announce_in_repository(tx: Tx, context: RepositoryContext, make_event: MakeEvent) -> None:
    """Announce a change in a repository with the event that ``make_event`` returns."""
    repository = context.presenter.repository(context.repository)
    people = await accounts.get_people(tx, [context.actor_id])
    sender = context.presenter.user(people.get(context.actor_id))
    emit(tx, make_event(repository, sender), repository.id)
