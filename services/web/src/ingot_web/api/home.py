"""The first page: of nobody what is here, of somebody what is theirs; and what waits for them."""

from asyncio import gather
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.api.request import PAGE_SIZE, WebRequest, whole_number

SHOWN = 6
TYPES = {"created_by": "created", "mentioned": "mentioned", "review_requested": "review"}
"""Filters by the names that Gitea has for them in addresses."""


@get("/", policy=anyone(), include_in_schema=False)
async def home(request: WebRequest) -> Response[str]:
    """The repositories of the caller and what waits for them, or the latest repositories."""
    forge = request.forge
    if not request.principal.signed_in:
        latest = await forge.listing("repos", "/repos/search", sort="updated", order="desc", limit=PAGE_SIZE)
        return request.render("home.html", title="Start", latest=latest)
    search = "/repos/issues/search"
    own, assigned, reviews, unread = await gather(
        forge.listing("repos", "/user/repos", limit=PAGE_SIZE),
        forge.listing("issues", search, assigned=True, state="open", limit=SHOWN),
        forge.listing("issues", search, review_requested=True, state="open", type="pulls", limit=SHOWN),
        forge.get("issues", "/notifications/new"),
    )
    return request.render(
        "home.html", title="Start", own=own, assigned=assigned, reviews=reviews, unread=unread["new"]
    )


async def _waiting(request: WebRequest, kind: str, title: str) -> Response[str]:
    """The issues or pull requests of all repositories that the caller has to do with."""
    request.require_signed_in()
    kind_there = request.query_params.get("type", "")
    choice = request.query_params.get("filter", TYPES.get(kind_there, "assigned"))
    filters = {"assigned": "assigned", "created": "created", "mentioned": "mentioned"}
    if kind == "pulls":
        filters["review"] = "review_requested"
    choice = choice if choice in filters else "assigned"
    state = "closed" if request.query_params.get("state") == "closed" else "open"
    listing = await request.forge.listing(
        "issues",
        "/repos/issues/search",
        **{filters[choice]: True},
        state=state,
        type=kind,
        page=request.number,
        limit=PAGE_SIZE,
    )
    return request.render(
        "waiting.html",
        title=title,
        kind=kind,
        listing=listing,
        choice=choice,
        state=state,
        filters=list(filters),
        pages=request.pages_of(listing.total),
    )


@get("/issues", policy=anyone(), include_in_schema=False)
async def issues(request: WebRequest) -> Response[str]:
    """Issues of all repositories that the caller has to do with."""
    return await _waiting(request, "issues", "Issues")


@get("/pulls", policy=anyone(), include_in_schema=False)
async def pulls(request: WebRequest) -> Response[str]:
    """Pull requests of all repositories that the caller has to do with."""
    return await _waiting(request, "pulls", "Pull requests")


@get("/notifications", policy=anyone(), include_in_schema=False)
async def notifications(request: WebRequest) -> Response[str]:
    """What the caller was told of."""
    request.require_signed_in()
    listing = await request.forge.listing("issues", "/notifications", page=request.number, limit=PAGE_SIZE)
    return request.render(
        "notifications.html",
        title="Notifications",
        threads=[(thread, _place(request, thread)) for thread in listing.rows],
        pages=request.pages_of(listing.total),
    )


def _place(request: WebRequest, thread: Any) -> str:
    """Where it is to be read: the latest comment, which may be on a later page of the timeline, or the issue."""
    subject = thread["subject"]
    if not subject["latest_comment_url"]:
        return str(subject["html_url"])
    comment_id = subject["latest_comment_url"].rpartition("/")[2]
    return f"{request.root}/{thread['repository']['full_name']}/issues/comments/{comment_id}"


@post("/notifications/read", policy=anyone(), include_in_schema=False)
async def mark_read(request: WebRequest) -> Response[bytes]:
    """Mark one thread as read, or everything if no thread was sent. Raises NotFound for what is no id."""
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


routes = [home, issues, pulls, notifications, mark_read]
