"""Notifications of the caller: threads of issues and pull requests."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, get, patch, put
from litestar.params import QueryParameter

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.http.policy import signed_in
from ingot_contracts.repos.repositories import Repository
from ingot_issues.access.api import queries
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.rules.repositories import reads
from ingot_issues.clients.repos import Readable
from ingot_issues.notifications.store import threads as store
from ingot_issues.notifications.store.threads import NotificationStatus, ThreadFilter, ThreadRow
from ingot_issues.records.rules.presenter import Presenter
from ingot_issues.repositories.store import copies as repositories

Values = list[str] | None
Statuses = Annotated[Values, QueryParameter(name="status-types")]
SubjectTypes = Annotated[Values, QueryParameter(name="subject-type")]
ToStatus = Annotated[str, QueryParameter(name="to-status")]
SUBJECTS = {"issue": False, "pull": True, "commit": None, "repository": None}
REASONS = ("mentioned", "requested", "participating", "watching")
SHOWN = (NotificationStatus.UNREAD, NotificationStatus.PINNED)
MOST_ANSWERED = 50
"""Maximum number of threads in the response to a change. All matching threads are changed."""


class NotificationSubject(msgspec.Struct):
    """The issue or pull request of a thread.

    ``latest_comment_url`` is set only if the latest event is a comment.
    """

    title: str
    url: str
    html_url: str
    latest_comment_url: str
    latest_comment_html_url: str
    type: Literal["Issue", "Pull"]
    state: str


class NotificationThread(msgspec.Struct):
    """A notification thread: all notifications of a person about one issue or pull request.

    `reason` is the reason for the latest event: `mentioned`, `requested` (as assignee or reviewer),
    `participating` or `watching`. It is empty for an event of an older release.
    """

    id: int
    repository: Repository
    subject: NotificationSubject
    unread: bool
    pinned: bool
    updated_at: datetime
    url: str
    reason: str = ""


class NotificationCount(msgspec.Struct):
    """The number of unread threads of the caller."""

    new: int


def _status(name: str, text: str) -> NotificationStatus:
    """Parse a status. Raises Invalid."""
    if text not in NotificationStatus.__members__.values():
        raise Invalid.field(name, "unknown", f"{text[:40]!r} is none of unread, read, pinned")
    return NotificationStatus(text)


def _statuses(
    values: Values, everything: str, default: Sequence[NotificationStatus]
) -> Sequence[NotificationStatus]:
    """Parse the statuses of a list. Raises Invalid."""
    if queries.truth(everything):
        return list(NotificationStatus)
    names = queries.names("status-types", values)
    return [_status("status-types", name) for name in names] or default


async def _readable_repositories(request: IssuesRequest, statuses: Sequence[NotificationStatus]) -> Readable:
    """Return the repositories with threads of these statuses that both the caller and the token may read."""
    async with request.db.read() as db:
        repository_ids = set(await store.list_repositories(db, request.principal.id, statuses))
    if request.principal.restricted_to is not None:
        repository_ids &= set(request.principal.restricted_to)
    return await request.components.repos.readable(repository_ids, request.principal_token)


def _own_repository(request: IssuesRequest) -> Readable:
    """Return the repository in the path, with the units that the caller may read."""
    access, own = request.whole_access, {request.repository_id}
    hidden = (set() if reads(access, is_pull=is_pull) else own for is_pull in (False, True))
    return Readable(own, *hidden)


def _within(readable: Readable) -> dict[str, Any]:
    """Return the fields of ``ThreadFilter`` for these repositories."""
    ids, without_issues, without_pulls = readable
    return {"repository_ids": ids, "without_issues": without_issues, "without_pulls": without_pulls}


async def _present(
    request: IssuesRequest, db: Executor, rows: Sequence[ThreadRow]
) -> list[NotificationThread]:
    copies = await repositories.get_many(db, {row.repository_id for row in rows})
    presenter = request.presenter
    shown = {repository_id: presenter.repository(copy) for repository_id, copy in copies.items()}
    return [_thread(presenter, row, shown[row.repository_id]) for row in rows]


def _thread(presenter: Presenter, row: ThreadRow, repository: Repository) -> NotificationThread:
    """Return a thread in the form of the API, with its presented ``repository``."""
    api = f"{presenter.root}api/v1/repos/{repository.full_name}"
    kind = "pulls" if row.is_pull else "issues"
    page = f"{presenter.root}{repository.full_name}/{kind}/{row.number}"
    comment = row.comment_id
    subject = NotificationSubject(
        title=row.title,
        url=f"{api}/issues/{row.number}",
        html_url=page,
        latest_comment_url=f"{api}/issues/comments/{comment}" if comment else "",
        latest_comment_html_url=f"{page}#issuecomment-{comment}" if comment else "",
        type="Pull" if row.is_pull else "Issue",
        state="merged" if row.merged else row.state,
    )
    return NotificationThread(
        id=row.id,
        repository=repository,
        subject=subject,
        unread=row.status == NotificationStatus.UNREAD,
        pinned=row.status == NotificationStatus.PINNED,
        updated_at=row.updated_at.replace(microsecond=0),
        url=f"{presenter.root}api/v1/notifications/threads/{row.id}",
        reason=row.reason,
    )


async def _list_page(
    request: IssuesRequest,
    readable: Readable,
    statuses: Sequence[NotificationStatus],
    subject_types: Values,
    since: str,
    before: str,
    reasons: Values,
) -> Response[list[NotificationThread]]:
    page = request.page()
    subjects = queries.names("subject-type", subject_types)
    kinds = {SUBJECTS[subject] for subject in subjects if subject in SUBJECTS}
    if kinds == {None}:
        return Response([], headers=request.page_headers(page, 0))
    kinds -= {None}
    filters = ThreadFilter(
        account_id=request.principal.id,
        **_within(readable),
        statuses=statuses,
        is_pull=next(iter(kinds)) if len(kinds) == 1 else None,
        since=queries.moment(since),
        before=queries.end(before),
        reasons=queries.choices("reason", reasons, REASONS),
    )
    async with request.db.read() as db:
        rows, total = await store.list_page(db, filters, page)
        threads = await _present(request, db, rows)
    return Response(threads, headers=request.page_headers(page, total))


async def _mark(
    request: IssuesRequest,
    readable: Readable,
    statuses: Sequence[NotificationStatus],
    to_status: str,
    last_read_at: str,
    thread_ids: Sequence[int] = (),
) -> Response[list[NotificationThread]]:
    """Change the status of threads. Return at most MOST_ANSWERED of the changed threads."""
    status = _status("to-status", to_status or NotificationStatus.READ)
    filters = ThreadFilter(
        account_id=request.principal.id,
        **_within(readable),
        statuses=statuses,
        before=_last_read(last_read_at),
        thread_ids=thread_ids,
    )
    async with request.db.transaction() as tx:
        ids = await store.mark(tx, filters, status)
        rows = await store.list_by_ids(tx, filters, sorted(ids, reverse=True)[:MOST_ANSWERED])
        threads = await _present(request, tx, rows)
    return Response(threads, status_code=205)


def _thread_ids(values: Values) -> list[int]:
    """Parse ids of threads. Raises Invalid, because ignoring an invalid id would mark all threads."""
    ids, others = queries.ids_and_names("thread", values)
    if others or (values and not ids):
        raise Invalid.field("thread", "format", "has a value that is no id")
    return ids


def _last_read(text: str) -> datetime | None:
    """Parse a time. Raises Invalid, because ignoring an invalid time would mark all threads."""
    moment = queries.end(text)
    if text and moment is None:
        raise Invalid.field("last_read_at", "format", "is no time")
    return moment


@get(
    "/api/v1/notifications",
    policy=signed_in("read:notification"),
    operation_id="notifyGetList",
    tags=["notification"],
)
async def list_notifications(
    request: IssuesRequest,
    all_: Annotated[str, QueryParameter(name="all")] = "",
    status_types: Statuses = None,
    subject_type: SubjectTypes = None,
    since: str = "",
    before: str = "",
    reason: Values = None,
) -> Response[list[NotificationThread]]:
    """List threads of the caller, the latest first.

    Only unread and pinned threads are listed, unless `all` or `status-types` is given.
    """
    statuses = _statuses(status_types, all_, SHOWN)
    readable = await _readable_repositories(request, statuses)
    return await _list_page(request, readable, statuses, subject_type, since, before, reason)


@put(
    "/api/v1/notifications",
    policy=signed_in("write:notification"),
    operation_id="notifyReadList",
    tags=["notification"],
    status_code=205,
)
async def mark_notifications(
    request: IssuesRequest,
    last_read_at: str = "",
    all_: Annotated[str, QueryParameter(name="all")] = "",
    status_types: Statuses = None,
    to_status: ToStatus = "",
    thread: Values = None,
) -> Response[list[NotificationThread]]:
    """Mark threads as read, or as `to-status`.

    Only unread threads are marked, unless `all` or `status-types` is given. With `thread`, only threads with
    these ids are marked.
    """
    statuses = _statuses(status_types, all_, [NotificationStatus.UNREAD])
    thread_ids = _thread_ids(thread)
    readable = await _readable_repositories(request, statuses)
    return await _mark(request, readable, statuses, to_status, last_read_at, thread_ids)


@get(
    "/api/v1/notifications/new",
    policy=signed_in("read:notification"),
    operation_id="notifyNewAvailable",
    tags=["notification"],
)
async def count_notifications(request: IssuesRequest) -> NotificationCount:
    """Count the unread threads of the caller."""
    statuses = [NotificationStatus.UNREAD]
    filters = ThreadFilter(
        account_id=request.principal.id,
        **_within(await _readable_repositories(request, statuses)),
        statuses=statuses,
    )
    async with request.db.read() as db:
        return NotificationCount(new=await store.count(db, filters))


async def _thread_filter(request: IssuesRequest, thread_id: int) -> ThreadFilter:
    statuses = list(NotificationStatus)
    return ThreadFilter(
        account_id=request.principal.id,
        **_within(await _readable_repositories(request, statuses)),
        statuses=statuses,
        thread_ids=[thread_id],
    )


@get(
    "/api/v1/notifications/threads/{thread_id:int}",
    policy=signed_in("read:notification"),
    operation_id="notifyGetThread",
    tags=["notification"],
)
async def get_thread(request: IssuesRequest, thread_id: int) -> NotificationThread:
    """Get a thread of the caller."""
    filters = await _thread_filter(request, thread_id)
    async with request.db.read() as db:
        rows = await store.list_by_ids(db, filters, [thread_id])
        threads = await _present(request, db, rows)
    if not threads:
        raise NotFound
    return threads[0]


@patch(
    "/api/v1/notifications/threads/{thread_id:int}",
    policy=signed_in("write:notification"),
    operation_id="notifyReadThread",
    tags=["notification"],
    status_code=205,
)
async def mark_thread(
    request: IssuesRequest, thread_id: int, to_status: ToStatus = ""
) -> Response[NotificationThread]:
    """Mark a thread of the caller as read, or as `to-status`."""
    status = _status("to-status", to_status or NotificationStatus.READ)
    filters = await _thread_filter(request, thread_id)
    async with request.db.transaction() as tx:
        await store.mark(tx, filters, status)
        threads = await _present(request, tx, await store.list_by_ids(tx, filters, [thread_id]))
    if not threads:
        raise NotFound
    return Response(threads[0], status_code=205)


@get(
    "/notifications",
    policy=in_repository("own", "read:notification"),
    operation_id="notifyGetRepoList",
    tags=["notification"],
)
async def list_repository_notifications(
    request: IssuesRequest,
    all_: Annotated[str, QueryParameter(name="all")] = "",
    status_types: Statuses = None,
    subject_type: SubjectTypes = None,
    since: str = "",
    before: str = "",
    reason: Values = None,
) -> Response[list[NotificationThread]]:
    """List threads of the caller about one repository, the latest first.

    Only unread and pinned threads are listed, unless `all` or `status-types` is given.
    """
    statuses = _statuses(status_types, all_, SHOWN)
    return await _list_page(request, _own_repository(request), statuses, subject_type, since, before, reason)


@put(
    "/notifications",
    policy=in_repository("own", "write:notification"),
    operation_id="notifyReadRepoList",
    tags=["notification"],
    status_code=205,
)
async def mark_repository_notifications(
    request: IssuesRequest,
    last_read_at: str = "",
    all_: Annotated[str, QueryParameter(name="all")] = "",
    status_types: Statuses = None,
    to_status: ToStatus = "",
) -> Response[list[NotificationThread]]:
    """Mark threads about one repository as read, or as `to-status`.

    Only unread threads are marked, unless `all` or `status-types` is given.
    """
    statuses = _statuses(status_types, all_, [NotificationStatus.UNREAD])
    return await _mark(request, _own_repository(request), statuses, to_status, last_read_at)


routes = [list_repository_notifications, mark_repository_notifications]
own_routes = [
    list_notifications, mark_notifications, count_notifications, get_thread, mark_thread,
]  # fmt: skip
