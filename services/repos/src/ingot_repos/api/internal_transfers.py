"""For web only: the transfers that wait for the caller's answer, which nothing else tells them of."""

from litestar import get

from ingot_chassis.http.policy import services
from ingot_contracts.identity import GHOST
from ingot_contracts.transfers import TransferOffer, TransferOffers
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.core import access
from ingot_repos.store import accounts, transfers

MOST_OFFERS = 20
"""In one answer."""


@get("/internal/transfers", policy=services("web"), include_in_schema=False)
async def list_offers(request: RepositoryRequest) -> TransferOffers:
    """The transfers to the caller and to organizations that the caller owns, the latest first.

    Not all that a site administrator may answer: those are of others. Nothing for a token that may not read repositories.
    """
    principal = access.towards_accounts(request.principal)
    if not principal.signed_in or not principal.may("read:repository"):
        return TransferOffers()
    owned = [id_ for id_, membership in principal.organizations.items() if membership.owner]
    async with request.db.read() as db:
        rows, total = await transfers.list_latest(db, [principal.id, *owned], MOST_OFFERS)
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


routes = [list_offers]
