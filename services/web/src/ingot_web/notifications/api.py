"""Routes for notifications: the list, redirects to subjects, the unread count, marking as read."""

from asyncio import gather
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Invalid, NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.clients.forge import at
from ingot_web.forms.rules.fields import whole_number
from ingot_web.pages.api.request import PAGE_SIZE, WebRequest

REASONS = {
    "mentioned": "Mentioned",
    "requested": "Assigned or review requested",
    "participating": "Participating",
    "watching": "Watching",
}
"""Reasons of notifications, and their labels."""
STATUSES = {"read": {"status-types": "read"}, "all": {"all": "true"}}
"""Parameters of the API for ``?q=``."""
FILTERS = ("q", "reason", "repository", "page")
MOST_SELECTED = 50
"""Maximum number of threads that one request marks."""
UNREAD_AGE = 30
"""Seconds for which a browser caches the number of unread notifications."""


@get("/notifications", policy=anyone(), include_in_schema=False)
async def notifications(request: WebRequest) -> Response[Any]:
    """List notifications of the caller: unread, read with ``?q=read``, or all with ``?q=all``.

    ``reason`` and ``repository`` filter the list. ``?open=`` redirects to the subject of the thread with this
    id. Pending transfers are listed as unread.
    """
    request.require_signed_in()
    if thread_id := whole_number(request.query_params.get("open", "")):
        return await _open(request, thread_id)
    chosen = {name: request.query_params.get(name, "") for name in ("q", "reason", "repository")}
    filters: dict[str, Any] = STATUSES.get(chosen["q"], {})
    if chosen["reason"] in REASONS:
        filters = filters | {"reason": chosen["reason"]}
    owner, _, name = chosen["repository"].partition("/")
    path = f"/repos{at(owner, name)}/notifications" if owner and name else "/notifications"
    list_ = request.forge.listing("issues", path, page=request.number, limit=PAGE_SIZE, **filters)
    has_offers = chosen["q"] not in STATUSES and len(filters) == 0 and not name
    listing, offers = await gather(list_, request.forge.offers()) if has_offers else (await list_, None)
    pages = request.pages_of(listing.total)
    if not listing.rows and listing.total and pages["number"] > pages["last"]:
        # The threads of the last page were marked as read.
        shown = {name: value for name, value in chosen.items() if value}
        return request.redirect(f"/notifications?{urlencode(shown | {'page': pages['last']})}")
    groups: dict[str, list[Any]] = {}
    for thread in listing.rows:
        groups.setdefault(thread["repository"]["full_name"], []).append((thread, _link(request, thread)))
    return request.render(
        "notifications/list.html",
        title="Notifications",
        chosen=chosen,
        reasons=REASONS,
        offers=offers,
        groups=groups,
        has_unread=any(thread["unread"] for thread in listing.rows),
        pages=pages,
    )


def _link(request: WebRequest, thread: Any) -> str:
    """Return the link to the subject of a thread.

    For an unread thread, the link also marks it as read. It is signed, so other sites cannot create it.
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
    """Return the number of unread notifications as an HTML fragment for htmx.

    The fragment is empty if the number is 0 or unknown. Requests without htmx are redirected to the list.
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
    """Return the path of the latest comment of a thread, or of its subject without comments."""
    subject = thread["subject"]
    if not subject["latest_comment_url"]:
        return urlsplit(str(subject["html_url"])).path.removeprefix(request.root)
    comment_id = subject["latest_comment_url"].rpartition("/")[2]
    return f"/{thread['repository']['full_name']}/issues/comments/{comment_id}"


@post("/notifications/read", policy=anyone(), include_in_schema=False)
async def mark_read(request: WebRequest) -> Response[bytes]:
    """Mark threads as read: one, the selected threads, or all.

    Raises NotFound for an invalid id, and Invalid if nothing is selected.
    """
    form = await request.sent_form()
    chosen = [form["only"]] if form.has("only") else form.all("thread")
    ids = [whole_number(text) for text in chosen]
    if not all(ids):
        raise NotFound
    if len(ids) == 1:
        await request.forge.send("PATCH", "issues", f"/notifications/threads/{ids[0]}?to-status=read")
    elif ids:
        query = urlencode({"thread": ids[:MOST_SELECTED], "to-status": "read"}, doseq=True)
        await request.forge.send("PUT", "issues", f"/notifications?{query}")
    elif form.has("selected"):
        raise Invalid("select at least one notification")
    else:
        await request.forge.send(
            "PUT", "issues", "/notifications?all=false&status-types=unread&to-status=read"
        )
    query = urlencode([pair for pair in parse_qsl(form.text("back")) if pair[0] in FILTERS])
    return request.redirect(f"/notifications?{query}" if query else "/notifications")


routes = [notifications, count_unread, mark_read]
