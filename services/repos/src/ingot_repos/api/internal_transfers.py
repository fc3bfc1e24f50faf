"""For web only: the transfers that wait for the caller's answer, which nothing else tells them of."""

from asyncio import gather
from collections.abc import Collection, Sequence

from litestar import get

from ingot_chassis.http.policy import services
from ingot_contracts.identity import GHOST
from ingot_contracts.transfers import TransferOffer, TransferOffers
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.core import access
from ingot_repos.store import accounts, transfers
from ingot_repos.store.transfers import OfferRow

MOST_OFFERS = 20
"""In one answer."""
ROUNDS = 5
"""So often the list is read again without senders who turned out to be blocked."""


@get("/internal/transfers", policy=services("web"), include_in_schema=False)
async def list_offers(request: RepositoryRequest) -> TransferOffers:
    """The transfers to the caller and to organizations that the caller owns, the latest first.

    Offers of senders whom the new owner blocks are left out, also those from before the block.
    Not all that a site administrator may answer: those are of others. Nothing for a token that may not read repositories.
    """
    principal = access.towards_accounts(request.principal)
    if not principal.signed_in or not principal.may("read:repository"):
        return TransferOffers()
    owned = [id_ for id_, membership in principal.organizations.items() if membership.owner]
    rows, total = await _list_offers(request, [principal.id, *owned])
    async with request.db.read() as db:
        ids = {id_ for row in rows for id_ in (row.sender_id, row.recipient_id)}
        people = {row.id: request.presenter.user(row) for row in await accounts.list_by_ids(db, ids)}
    return TransferOffers(
        offers=[
            TransferOffer(
                full_name=f"{row.owner_login}/{row.name}",
                doer=people.get(row.sender_id, GHOST),
                recipient=people.get(row.recipient_id, GHOST),
                created_at=row.created_at,
            )
            for row in rows
        ],
        total=total,
    )


async def _list_offers(
    request: RepositoryRequest, recipient_ids: Collection[int]
) -> tuple[Sequence[OfferRow], int]:
    """The latest transfers whose senders their recipients do not block, and how many there are."""
    blocked: set[tuple[int, int]] = set()
    checked: set[tuple[int, int]] = set()
    rows: Sequence[OfferRow] = ()
    total = 0
    for _ in range(ROUNDS):
        async with request.db.read() as db:
            rows, total = await transfers.list_latest(db, recipient_ids, MOST_OFFERS, but=blocked)
        new = sorted({(row.recipient_id, row.sender_id) for row in rows} - checked)
        answers = await gather(*(request.components.identity.is_blocked(*pair) for pair in new))
        new_blocks = {pair for pair, is_blocked in zip(new, answers, strict=True) if is_blocked}
        if not new_blocks:
            break
        checked.update(new)
        blocked |= new_blocks
    shown = [row for row in rows if (row.recipient_id, row.sender_id) not in blocked]
    return shown, total - len(rows) + len(shown)


routes = [list_offers]
