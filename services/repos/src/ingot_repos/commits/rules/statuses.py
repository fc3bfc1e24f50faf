"""Creation of commit statuses, with the events that announce them."""

from collections.abc import Set as AbstractSet

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict
from ingot_contracts.limits import Omitted
from ingot_contracts.repos.commits import PASSED, Commit, CommitStatus, StatusState
from ingot_contracts.repos.events import StatusCreated
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.commits.store import statuses
from ingot_repos.commits.store.statuses import StatusRow
from ingot_repos.presentation.rules.announcements import current_row
from ingot_repos.presentation.rules.presenter import Presenter, as_user

FAILED: frozenset[StatusState] = frozenset(("error", "failure", "warning"))


def outcome(states: AbstractSet[StatusState]) -> StatusState:
    """Return the combined state of the checks of a commit: `failure`, `pending` or `success`."""
    if states & FAILED:
        return "failure"
    return "success" if states and states <= PASSED else "pending"


async def add_status(
    tx: Tx,
    presenter: Presenter,
    repository_id: int,
    commit: Commit,
    omitted: Omitted,
    creator: AccountRow,
    **columns: str,
) -> CommitStatus:
    """Add a status to a commit and announce it. Raises Conflict if the repository was deleted.

    ``commit`` is shortened for the event. ``omitted`` counts the characters and paths that it omits.
    """
    row = await current_row(tx, repository_id)
    status_row = await statuses.add(tx, repository_id, commit.id, creator_id=creator.id, **columns)
    if status_row is None:
        raise Conflict("the repository was deleted in the meantime")
    status = status_view(presenter, f"{row.owner_login}/{row.name}", status_row)
    tx.emit(
        StatusCreated(
            repository=presenter.repository(row),
            sender=as_user(creator),
            sha=commit.id,
            commit=commit,
            status=status,
            omitted=omitted,
        ),
        key=repository_id,
    )
    return status


def status_view(presenter: Presenter, full_name: str, row: StatusRow) -> CommitStatus:
    """Return a commit status of the repository ``full_name`` for responses and events."""
    at = row.created_at.replace(microsecond=0)
    return CommitStatus(
        id=row.number,
        status=row.state,
        target_url=row.target_url,
        description=row.description,
        url=f"{presenter.root}api/v1/repos/{full_name}/statuses/{row.sha}",
        context=row.context,
        creator=presenter.joined_user(row.creator_id, row),
        created_at=at,
        updated_at=at,
    )
