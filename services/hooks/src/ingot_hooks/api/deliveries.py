"""The history of a hook: what was sent, what came back, and sending it once more.

It may tell of private repositories, so that of an organization is for its owners.
"""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
from litestar import Response, get, post

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.policy import resource
from ingot_hooks.api.call import Call
from ingot_hooks.api.paths import named
from ingot_hooks.core import hooks
from ingot_hooks.store import deliveries as store
from ingot_hooks.store.deliveries import DeliveryRow

EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
OF_HOOK = "/hooks/{hook_id:int}/deliveries"
READ, WRITE = resource("write", "read:hook"), resource("write", "write:hook")


class Delivery(msgspec.Struct, kw_only=True):
    """`id` is what receivers see, the same in every attempt. `status_code` 0: there was no answer, see `error`."""

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
    """`since` is held against the time at which a delivery was queued."""

    since: datetime


class Redelivering(msgspec.Struct, kw_only=True):
    """How many deliveries are sent once more."""

    count: int


class Sent(msgspec.Struct, kw_only=True):
    payload: Any


class Answered(msgspec.Struct, kw_only=True):
    headers: dict[str, str]
    body: str


class DeliveryInFull(Delivery, kw_only=True):
    request: Sent
    response: Answered


def view(row: DeliveryRow) -> Delivery:
    return Delivery(**_fields(row))


def view_in_full(row: DeliveryRow) -> DeliveryInFull:
    return DeliveryInFull(
        **_fields(row),
        request=Sent(payload=json.loads(row.body)),
        response=Answered(
            headers=json.loads(row.response_headers), body=row.response_body.decode("utf-8", "replace")
        ),
    )


def _fields(row: DeliveryRow) -> dict[str, Any]:
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
        "created_at": row.created_at,
        "attempted_at": row.attempted_at,
        "next_attempt_at": row.next_attempt_at if row.state == "pending" else None,
        "finished_at": row.finished_at,
    }


@get(OF_HOOK, policy=READ, operation_id=named("ListHookDeliveries"))
async def list_deliveries(request: Call, hook_id: int) -> Response[list[Delivery]]:
    """Deliveries of a hook, newest first."""
    await request.hook(hook_id)
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, hook_id, page)
    return Response([view(row) for row in rows], headers=request.page_headers(page, total))


@get(OF_HOOK + "/{delivery_id:str}", policy=READ, operation_id=named("GetHookDelivery"))
async def get_delivery(request: Call, hook_id: int, delivery_id: str) -> DeliveryInFull:
    """One delivery with its payload and the answer."""
    await request.hook(hook_id)
    async with request.db.read() as db:
        row = await store.get(db, hook_id, delivery_id)
    if row is None:
        raise NotFound
    return view_in_full(row)


@post(
    OF_HOOK + "/{delivery_id:str}/attempts",
    policy=WRITE,
    operation_id=named("RedeliverHookDelivery"),
    status_code=202,
)
async def redeliver(request: Call, hook_id: int, delivery_id: str) -> Delivery:
    """Send an ended delivery once more, under the same id."""
    await request.hook(hook_id)
    async with request.db.transaction() as tx:
        row = await hooks.redeliver(tx, hook_id, delivery_id)
    request.bell.ring()
    return view(row)


@post(
    OF_HOOK + "/attempts",
    policy=WRITE,
    operation_id=named("RedeliverFailedHookDeliveries"),
    status_code=202,
)
async def redeliver_failed(request: Call, hook_id: int, data: RedeliverFailed) -> Redelivering:
    """Send once more, under the same ids, all that failed since a time.

    That includes what waited for a hook when it was switched off because its endpoint failed.
    """
    await request.hook(hook_id)
    since = data.since if data.since.tzinfo else data.since.replace(tzinfo=UTC)
    if not EARLIEST < since < LATEST:
        raise Invalid.field("since", "range", "is out of range")
    async with request.db.transaction() as tx:
        count = await store.failed_again(tx, hook_id, since)
    request.bell.ring()
    return Redelivering(count=count)


routes = [list_deliveries, get_delivery, redeliver, redeliver_failed]
