"""Subscribers of an issue."""

from datetime import datetime

import msgspec
from litestar import MediaType, Response, delete, get, put

from ingot_chassis.errors import Denied
from ingot_chassis.http.openapi import response_spec
from ingot_contracts.identity.accounts import User
from ingot_contracts.limits import Name
from ingot_issues.access.api import queries
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.records import issue_id_of
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.accounts import store as accounts
from ingot_issues.issues.api.presentation import issue_of
from ingot_issues.issues.store.details import IssueDetails
from ingot_issues.notifications.store import subscriptions as store

UNCHANGED = {200: response_spec(None, "It was so already")}


class WatchInfo(msgspec.Struct):
    """A subscription. ``ignored``: the caller has unsubscribed."""

    subscribed: bool
    ignored: bool
    reason: Name | None
    created_at: datetime
    url: str
    repository_url: str


@get(
    "/issues/{index:int}/subscriptions",
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueSubscriptions",
    tags=["issue"],
)
async def list_subscriptions(request: IssuesRequest, index: int) -> Response[list[User]]:
    """List the subscribers of an issue: participants, and people who subscribed."""
    issue_id, page = await issue_id_of(request, index), request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, issue_id, page)
    page_users = [request.presenter.user(accounts.person_of(row)) for row in rows]
    return Response(page_users, headers=request.page_headers(page, total))


@get(
    "/issues/{index:int}/subscriptions/check",
    policy=in_repository("own", "read:issue", "numbered"),
    operation_id="issueCheckSubscription",
    tags=["issue"],
)
async def check_subscription(request: IssuesRequest, index: int) -> WatchInfo:
    """Return the caller's subscription to an issue. Participants are subscribed, too."""
    issue = await issue_of(request, index)
    async with request.db.read() as db:
        row = await store.get(db, issue.id, request.principal.id)
        subscriber_ids = await store.list_subscriber_ids(db, issue.id)
    root = f"{request.presenter.root}api/v1/repos/{request.access.repository.full_name}"
    return WatchInfo(
        subscribed=request.principal.id in subscriber_ids,
        ignored=row is not None and not row.subscribed,
        reason=None,
        created_at=(row.created_at if row else issue.created_at).replace(microsecond=0),
        url=f"{root}/issues/{issue.number}/subscriptions",
        repository_url=root,
    )


@put(
    "/issues/{index:int}/subscriptions/{user:str}",
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueAddSubscription",
    tags=["issue"],
    status_code=201,
    responses=UNCHANGED,
)
async def subscribe(request: IssuesRequest, index: int, user: str) -> Response[None]:
    """Subscribe the caller to an issue. The status is 200 if already subscribed.

    Site administrators can subscribe any user who may read the repository.
    """
    return await _save(request, await issue_of(request, index), user, subscribed=True)


@delete(
    "/issues/{index:int}/subscriptions/{user:str}",
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueDeleteSubscription",
    tags=["issue"],
    status_code=201,
    responses=UNCHANGED,
)
async def unsubscribe(request: IssuesRequest, index: int, user: str) -> Response[None]:
    """Unsubscribe the caller from an issue. The status is 200 if not subscribed.

    Site administrators can unsubscribe any user who may read the repository.
    """
    return await _save(request, await issue_of(request, index), user, subscribed=False)


async def _save(
    request: IssuesRequest, issue: IssueDetails, user: str, *, subscribed: bool
) -> Response[None]:
    """Save the subscription. The status is 201 if it changes, else 200. Raises Denied or NotFound."""
    account_id = await _subscriber_id(request, queries.storable(user))
    context = await request.context()
    async with request.db.transaction() as tx:
        await context.lock(tx, issue.id)
        before = account_id in await store.list_subscriber_ids(tx, issue.id)
        await store.save(tx, issue.id, account_id, subscribed=subscribed)
    return Response(None, status_code=200 if before == subscribed else 201, media_type=MediaType.TEXT)


async def _subscriber_id(request: IssuesRequest, login: str) -> int:
    """Return the id of the caller or, for a site administrator, of any reader of the repository.

    Raises Denied or NotFound.
    """
    if login.lower() == request.principal.name.lower():
        return request.principal.id
    if not request.principal.admin:
        raise Denied("only for oneself")
    account_id = (await request.components.identity.account_by_name(login)).id
    access = await request.components.repos.access_of_user_by_id(account_id, request.repository_id)
    request.require_reader(access)
    return account_id


routes = [list_subscriptions, check_subscription, subscribe, unsubscribe]
