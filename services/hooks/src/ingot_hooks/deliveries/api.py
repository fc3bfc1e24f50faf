"""The history of a hook: deliveries, responses of the endpoint, and redelivery.

A payload may describe a private repository, so only owners of an organization see the history of its hooks.
"""

import json
from datetime import datetime
from typing import Any

import msgspec
from litestar import Response, get, post
from litestar.handlers import HTTPRouteHandler

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import Policy
from ingot_hooks.catalog.api import in_organization, in_own_account, in_repository, of_server
from ingot_hooks.catalog.request import HooksRequest
from ingot_hooks.catalog.rules.access import HOOK_LEVEL
from ingot_hooks.catalog.rules.wakeup import DeliveryWakeup
from ingot_hooks.deliveries.rules import redelivery as deliveries
from ingot_hooks.deliveries.store import queries as store
from ingot_hooks.deliveries.store.queries import DeliveryRow, DeliverySummaryRow
from ingot_hooks.deliveries.store.tables import DeliveryState


class Delivery(msgspec.Struct, kw_only=True):
    """A delivery. Its `id` is sent to receivers in every attempt. `status_code` 0: see `error`."""

    id: str
    event: str
    event_type: str
    action: str
    state: str
    attempts: int
    status_code: int
    error: str
    sequence: int
    created_at: datetime
    attempted_at: datetime | None
    next_attempt_at: datetime | None
    finished_at: datetime | None


class RedeliverFailed(msgspec.Struct, kw_only=True):
    """A request to send failed deliveries again.

    `since` is compared with the times at which deliveries were queued.
    """

    since: datetime


class RedeliveredCount(msgspec.Struct, kw_only=True):
    """The number of deliveries that are sent again."""

    count: int


class SentRequest(msgspec.Struct, kw_only=True):
    payload: Any


class ReceivedResponse(msgspec.Struct, kw_only=True):
    headers: dict[str, str]
    body: str


class DeliveryDetails(Delivery, kw_only=True):
    request: SentRequest
    response: ReceivedResponse


def present(row: DeliverySummaryRow) -> Delivery:
    return Delivery(**_fields(row))


def present_details(row: DeliveryRow) -> DeliveryDetails:
    return DeliveryDetails(
        **_fields(row),
        request=SentRequest(payload=json.loads(row.body)),
        response=ReceivedResponse(
            headers=json.loads(row.response_headers), body=row.response_body.decode("utf-8", "replace")
        ),
    )


def _fields(row: DeliverySummaryRow) -> dict[str, Any]:
    is_pending = row.state == DeliveryState.PENDING
    return {
        "id": row.id,
        "event": row.event,
        "event_type": row.kind,
        "action": row.action,
        "state": row.state,
        "attempts": row.attempts,
        "status_code": row.status,
        "error": row.error,
        "sequence": row.sequence,
        "created_at": _whole_seconds(row.created_at),
        "attempted_at": _whole_seconds(row.attempted_at),
        "next_attempt_at": _whole_seconds(row.next_attempt_at) if is_pending else None,
        "finished_at": _whole_seconds(row.finished_at),
    }


def _whole_seconds(time: datetime | None) -> datetime | None:
    return time.replace(microsecond=0) if time is not None else None


async def list_deliveries(request: HooksRequest, hook_id: int) -> Response[list[Delivery]]:
    """List deliveries of a hook, latest first."""
    await request.hook(hook_id)
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, hook_id, page)
    return Response([present(row) for row in rows], headers=request.page_headers(page, total))


async def get_delivery(request: HooksRequest, hook_id: int, delivery_id: str) -> DeliveryDetails:
    """Get one delivery with its payload and the response."""
    await request.hook(hook_id)
    async with request.db.read() as db:
        row = await store.get(db, hook_id, delivery_id)
    if row is None:
        raise NotFound
    return present_details(row)


async def redeliver(request: HooksRequest, hook_id: int, delivery_id: str) -> Delivery:
    """Send a delivery again, with its id. It must have ended or wait for its next attempt."""
    await request.hook(hook_id)
    async with request.db.transaction() as tx:
        row = await deliveries.redeliver(tx, hook_id, delivery_id)
    request.part(DeliveryWakeup).notify()
    return present(row)


async def redeliver_failed(request: HooksRequest, hook_id: int, data: RedeliverFailed) -> RedeliveredCount:
    """Send all failed deliveries again that were queued since a time, with their ids.

    This includes deliveries that were pending when the hook was switched off because its endpoint failed.
    """
    await request.hook(hook_id)
    async with request.db.transaction() as tx:
        count = await deliveries.redeliver_failed(tx, hook_id, data.since)
    request.part(DeliveryWakeup).notify()
    return RedeliveredCount(count=count)


DELIVERIES = "/hooks/{hook_id:int}/deliveries"
DELIVERY = DELIVERIES + "/{delivery_id:str}"


def _routes(owner: str, read: Policy, write: Policy) -> list[HTTPRouteHandler]:
    """Return the routes of one kind of owner. Their operation ids begin with ``owner``."""
    return [
        get(DELIVERIES, policy=read, operation_id=f"{owner}ListHookDeliveries")(list_deliveries),
        get(DELIVERY, policy=read, operation_id=f"{owner}GetHookDelivery")(get_delivery),
        post(
            DELIVERY + "/attempts",
            policy=write,
            operation_id=f"{owner}RedeliverHookDelivery",
            status_code=202,
        )(redeliver),
        post(
            DELIVERIES + "/attempts",
            policy=write,
            operation_id=f"{owner}RedeliverFailedHookDeliveries",
            status_code=202,
        )(redeliver_failed),
    ]


repository_routes = _routes(
    "repo", in_repository(HOOK_LEVEL, "read:hook"), in_repository(HOOK_LEVEL, "write:hook")
)
organization_routes = _routes(
    "org", in_organization("owner", "read:hook"), in_organization("owner", "write:hook")
)
own_routes = _routes("user", in_own_account("read:hook"), in_own_account("write:hook"))
server_routes = _routes("admin", of_server("read:admin"), of_server("write:admin"))
