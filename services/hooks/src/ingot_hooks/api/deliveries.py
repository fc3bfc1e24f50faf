"""The history of a hook: what was sent, what came back, and sending it once more."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
from litestar import Response, get, post

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import resource, signed_in
from ingot_hooks.api.call import Call
from ingot_hooks.core import hooks
from ingot_hooks.store import deliveries as store
from ingot_hooks.store.deliveries import DeliveryRow
from ingot_hooks.store.hooks import Owner

OF_REPOSITORY = "/api/v1/repos/{owner:str}/{repo:str}/hooks/{hook_id:int}/deliveries"
OF_ORGANIZATION = "/api/v1/orgs/{org:str}/hooks/{hook_id:int}/deliveries"


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


@get(
    OF_REPOSITORY,
    policy=resource("write", "read:hook"),
    operation_id="repoListHookDeliveries",
    tags=["repository"],
)
async def list_of_repository(request: Call, owner: str, repo: str, hook_id: int) -> Response[list[Delivery]]:
    """Deliveries of a hook, newest first."""
    return await _list(request, await request.repository(owner, repo), hook_id)


@get(
    OF_REPOSITORY + "/{delivery_id:str}",
    policy=resource("write", "read:hook"),
    operation_id="repoGetHookDelivery",
    tags=["repository"],
)
async def get_of_repository(
    request: Call, owner: str, repo: str, hook_id: int, delivery_id: str
) -> DeliveryInFull:
    """One delivery with its payload and the answer."""
    return await _get(request, await request.repository(owner, repo), hook_id, delivery_id)


@post(
    OF_REPOSITORY + "/{delivery_id:str}/attempts",
    policy=resource("write", "write:hook"),
    operation_id="repoRedeliverHookDelivery",
    tags=["repository"],
    status_code=202,
)
async def redeliver_of_repository(
    request: Call, owner: str, repo: str, hook_id: int, delivery_id: str
) -> Delivery:
    """Send an ended delivery once more, under the same id."""
    return await _redeliver(request, await request.repository(owner, repo), hook_id, delivery_id)


@post(
    OF_REPOSITORY + "/attempts",
    policy=resource("write", "write:hook"),
    operation_id="repoRedeliverFailedHookDeliveries",
    tags=["repository"],
    status_code=202,
)
async def redeliver_failed_of_repository(
    request: Call, owner: str, repo: str, hook_id: int, data: RedeliverFailed
) -> Redelivering:
    """Send once more, under the same ids, all that failed since a time."""
    return await _redeliver_failed(request, await request.repository(owner, repo), hook_id, data)


@get(
    OF_ORGANIZATION,
    policy=signed_in("read:hook"),
    operation_id="orgListHookDeliveries",
    tags=["organization"],
)
async def list_of_organization(request: Call, org: str, hook_id: int) -> Response[list[Delivery]]:
    """Deliveries of a hook, newest first. They may tell of private repositories, so this is for owners."""
    return await _list(request, await request.organization(org, owners_only=True), hook_id)


@get(
    OF_ORGANIZATION + "/{delivery_id:str}",
    policy=signed_in("read:hook"),
    operation_id="orgGetHookDelivery",
    tags=["organization"],
)
async def get_of_organization(request: Call, org: str, hook_id: int, delivery_id: str) -> DeliveryInFull:
    """One delivery with its payload and the answer."""
    return await _get(request, await request.organization(org, owners_only=True), hook_id, delivery_id)


@post(
    OF_ORGANIZATION + "/{delivery_id:str}/attempts",
    policy=signed_in("write:hook"),
    operation_id="orgRedeliverHookDelivery",
    tags=["organization"],
    status_code=202,
)
async def redeliver_of_organization(request: Call, org: str, hook_id: int, delivery_id: str) -> Delivery:
    """Send an ended delivery once more, under the same id."""
    return await _redeliver(request, await request.organization(org, owners_only=True), hook_id, delivery_id)


@post(
    OF_ORGANIZATION + "/attempts",
    policy=signed_in("write:hook"),
    operation_id="orgRedeliverFailedHookDeliveries",
    tags=["organization"],
    status_code=202,
)
async def redeliver_failed_of_organization(
    request: Call, org: str, hook_id: int, data: RedeliverFailed
) -> Redelivering:
    """Send once more, under the same ids, all that failed since a time."""
    return await _redeliver_failed(request, await request.organization(org, owners_only=True), hook_id, data)


async def _list(request: Call, owner: Owner, hook_id: int) -> Response[list[Delivery]]:
    await request.hook(owner, hook_id)
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, hook_id, page)
    return Response([view(row) for row in rows], headers=request.page_headers(page, total))


async def _get(request: Call, owner: Owner, hook_id: int, delivery_id: str) -> DeliveryInFull:
    await request.hook(owner, hook_id)
    async with request.db.read() as db:
        row = await store.get(db, hook_id, delivery_id)
    if row is None:
        raise NotFound
    return view_in_full(row)


async def _redeliver(request: Call, owner: Owner, hook_id: int, delivery_id: str) -> Delivery:
    await request.hook(owner, hook_id)
    async with request.db.transaction() as tx:
        row = await hooks.redeliver(tx, hook_id, delivery_id)
    request.bell.ring()
    return view(row)


async def _redeliver_failed(request: Call, owner: Owner, hook_id: int, data: RedeliverFailed) -> Redelivering:
    await request.hook(owner, hook_id)
    since = data.since if data.since.tzinfo else data.since.replace(tzinfo=UTC)
    async with request.db.transaction() as tx:
        count = await store.failed_again(tx, hook_id, since)
    request.bell.ring()
    return Redelivering(count=count)


routes = [
    list_of_repository,
    get_of_repository,
    redeliver_of_repository,
    redeliver_failed_of_repository,
    redeliver_failed_of_organization,
    list_of_organization,
    get_of_organization,
    redeliver_of_organization,
]
