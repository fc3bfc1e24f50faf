"""An internal route for web: pending transfers to the caller. Transfers cause no other notification."""

from asyncio import gather
from collections.abc import Collection, Sequence

from litestar import get

from ingot_chassis.http.policy import services
from ingot_contracts.identity.accounts import GHOST
from ingot_contracts.repos.transfers import TransferOffer, TransferOffers
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.catalog.store import accounts, transfers
from ingot_repos.catalog.store.transfers import OfferRow
from ingot_repos.clients.identity import HttpIdentity

MOST_OFFERS = 20
"""Limit of offers per response."""
ROUNDS = 5
"""Limit of repeated reads after transfers of blocked senders were removed from a page."""


@get("/internal/transfers", policy=services("web"), include_in_schema=False)
async def list_offers(request: RepositoryRequest) -> TransferOffers:
    """List transfers to the caller and to organizations that the caller owns, the latest first.

    Transfers from senders whom the new owner has blocked are omitted, also if the transfer is older than the
    block. Site administrators do not get transfers to others. A token that may not read repositories gets an
    empty list.
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
    """Return the latest transfers without blocked senders, and the total number of transfers."""
    blocked: set[tuple[int, int]] = set()
    checked: set[tuple[int, int]] = set()
    rows: Sequence[OfferRow] = ()
    total = 0
    for _ in range(ROUNDS):
        async with request.db.read() as db:
            rows, total = await transfers.list_latest(db, recipient_ids, MOST_OFFERS, but=blocked)
        new = sorted({(row.recipient_id, row.sender_id) for row in rows} - checked)
        answers = await gather(*(request.part(HttpIdentity).is_blocked(*pair) for pair in new))
        new_blocks = {pair for pair, is_blocked in zip(new, answers, strict=True) if is_blocked}
        if not new_blocks:
            break
        checked.update(new)
        blocked |= new_blocks
    shown = [row for row in rows if (row.recipient_id, row.sender_id) not in blocked]
    return shown, total - len(rows) + len(shown)


routes = [list_offers]
