"""Routes for notifications: the list, redirects to subjects, the number of unread ones, marking as read."""

from asyncio import gather
from typing import Any
from urllib.parse import urlencode, urlsplit

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.forms.rules.fields import whole_number
from ingot_web.pages.api.request import PAGE_SIZE, WebRequest

UNREAD_AGE = 30
"""Seconds for which a browser caches the number of unread notifications."""


@get("/notifications", policy=anyone(), include_in_schema=False)
async def notifications(request: WebRequest) -> Response[Any]:
    """List notifications of the caller: unread ones, or read ones with ``?q=read``.

    ``?open=`` redirects to one. Pending transfers are listed as unread.
    """
    request.require_signed_in()
    if thread_id := whole_number(request.query_params.get("open", "")):
        return await _open(request, thread_id)
    is_read = request.query_params.get("q") == "read"
    filters: dict[str, Any] = {"status-types": "read"} if is_read else {}
    list_ = request.forge.listing("issues", "/notifications", page=request.number, limit=PAGE_SIZE, **filters)
    listing, offers = (await list_, None) if is_read else await gather(list_, request.forge.offers())
    return request.render(
        "notifications/list.html",
        title="Notifications",
        is_read=is_read,
        offers=offers,
        threads=[(thread, _link(request, thread)) for thread in listing.rows],
        pages=request.pages_of(listing.total),
    )


def _link(request: WebRequest, thread: Any) -> str:
    """Return the link to the subject of a thread.

    For an unread thread the link also marks it as read. Links of other sites cannot do that.
    """
    if not thread["unread"]:
        return request.root + _place(request, thread)
    query = {"open": thread["id"], "proof": request.proof(f"open {thread['id']}")}
    return f"{request.root}/notifications?{urlencode(query)}"


async def _open(request: WebRequest, thread_id: int) -> Response[bytes]:
    path = f"/notifications/threads/{thread_id}"
    thread = await request.forge.get("issues", path)
    if thread["unread"] and request.proves(f"open {thread_id}", request.query_params.get("proof", "")):
        await request.forge.send("PATCH", "issues", f"{path}?to-status=read")
    return request.redirect(_place(request, thread))


@get("/notifications/unread", policy=anyone(), include_in_schema=False)
async def count_unread(request: WebRequest) -> Response[Any]:
    """Return the number of unread notifications for an open page; empty if it is unknown.

    Other requests are redirected to the list.
    """
    request.require_signed_in()
    if not request.wants_part:
        return request.redirect("/notifications")
    try:
        count = (await request.forge.get("issues", "/notifications/new"))["new"]
    except ApiError:
        count = 0
    part = request.render("notifications/unread.html", in_place="notifications/unread.html", count=count)
    # Not asked again with each page; another account has another cookie.
    part.headers |= {"Cache-Control": f"private, max-age={UNREAD_AGE}", "Vary": "HX-Request, Cookie"}
    return part


def _place(request: WebRequest, thread: Any) -> str:
    """Return the path of the latest comment on its page of the timeline, or of the issue."""
    subject = thread["subject"]
    if not subject["latest_comment_url"]:
        return urlsplit(str(subject["html_url"])).path.removeprefix(request.root)
    comment_id = subject["latest_comment_url"].rpartition("/")[2]
    return f"/{thread['repository']['full_name']}/issues/comments/{comment_id}"


@post("/notifications/read", policy=anyone(), include_in_schema=False)
async def mark_read(request: WebRequest) -> Response[bytes]:
    """Mark one thread as read; without an id, all threads. Raises NotFound for an invalid id."""
    form = await request.sent_form()
    if "thread" in form:
        thread_id = whole_number(form.text("thread"))
        if not thread_id:
            raise NotFound
        await request.forge.send("PATCH", "issues", f"/notifications/threads/{thread_id}?to-status=read")
    else:
        await request.forge.send(
            "PUT", "issues", "/notifications?all=false&status-types=unread&to-status=read"
        )
    return request.redirect("/notifications")


routes = [notifications, count_unread, mark_read]
