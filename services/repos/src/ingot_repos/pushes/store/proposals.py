"""SQL for proposals: commits that are pushed to ``refs/for/``, and the pull requests that they became."""

from collections.abc import Collection

from sqlalchemy import delete, func, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.transaction import Tx, insert
from ingot_repos.pushes.store.tables import proposal


class ProposalRow(TypedRow):
    """A proposed pull request. ``number`` is 0 before the pull request exists.

    ``compared_sha`` is the head that issues compared last: 40 zeros if it was announced and not compared
    since, empty if it was never announced.
    """

    id: int
    number: int
    compared_sha: str


async def take(
    tx: Tx, repository_id: int, account_id: int, base_branch: str, topic: str, *, most_pending: int
) -> int:
    """Return the id of this proposal. A new proposal is inserted.

    Return 0 if the account has ``most_pending`` other proposals in the repository without a pull request.
    """
    key = {
        "repository_id": repository_id,
        "account_id": account_id,
        "base_branch": base_branch,
        "topic": topic,
    }
    statement = select(proposal.c.id).where(*(proposal.c[name] == value for name, value in key.items()))
    proposal_id: int | None = (await tx.execute(statement)).scalar()
    if proposal_id is None:
        pending = select(func.count()).where(
            proposal.c.repository_id == repository_id,
            proposal.c.account_id == account_id,
            proposal.c.number == 0,
        )
        if ((await tx.execute(pending)).scalar() or 0) >= most_pending:
            return 0
        await tx.execute(insert(tx, proposal).values(key).on_conflict_do_nothing())
        proposal_id = (await tx.execute(statement)).scalar()
    return int(proposal_id or 0)


async def forget(tx: Tx, proposal_ids: Collection[int]) -> None:
    """Remove proposals that have no pull request and that no later push has announced."""
    unused = proposal.c.number == 0, proposal.c.compared_sha == ""
    await tx.execute(delete(proposal).where(proposal.c.id.in_(proposal_ids), *unused))


async def get(db: Executor, proposal_id: int) -> ProposalRow | None:
    return await fetch_first(db, select(proposal).where(proposal.c.id == proposal_id), ProposalRow)


async def record(
    tx: Tx, repository_id: int, proposal_id: int, *, compared_sha: str, number: int | None = None
) -> bool:
    """Store the head that issues compared, and the pull request if given.

    Return False if the proposal does not exist.
    """
    values: dict[str, str | int] = {"compared_sha": compared_sha}
    if number is not None:
        values["number"] = number
    statement = update(proposal).where(
        proposal.c.id == proposal_id, proposal.c.repository_id == repository_id
    )
    return (await tx.execute(statement.values(values))).rowcount == 1
