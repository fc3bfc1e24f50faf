"""The first page: of nobody what is here, of somebody what is theirs; and what waits for them."""

from asyncio import gather
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode, urlsplit

from litestar import Response, get, post
from litestar.datastructures import Cookie

from ingot_chassis.errors import ApiError, NotFound
from ingot_chassis.http.policy import anyone
from ingot_contracts.identity import session_cookie
from ingot_web.api.request import PAGE_SIZE, WebRequest, whole_number
from ingot_web.clients.forge import at

SHOWN = 6
ORGANIZATIONS = 10
UNREAD_AGE = 30
"""Seconds for which a browser keeps the number of unread notifications."""
TYPES = {
    "your_repositories": "repositories",
    "created_by": "created",
    "mentioned": "mentioned",
    "review_requested": "review",
}
"""Filters by the names that Gitea has for them in addresses."""


@get("/", policy=anyone(), include_in_schema=False)
async def home(request: WebRequest) -> Response[str]:
    """The repositories and organizations of the caller and what waits for them, or the latest repositories."""
    forge = request.forge
    if not request.principal.signed_in:
        latest = await forge.listing("repos", "/repos/search", sort="updated", order="desc", limit=PAGE_SIZE)
        return request.render("home.html", title="Start", latest=latest)
    search = "/repos/issues/search"
    own, assigned, reviews, unread, organizations, offers = await gather(
        forge.listing("repos", "/user/repos", page=request.number, limit=PAGE_SIZE),
        forge.listing("issues", search, assigned=True, state="open", limit=SHOWN),
        forge.listing("issues", search, review_requested=True, state="open", type="pulls", limit=SHOWN),
        forge.get("issues", "/notifications/new"),
        forge.listing("identity", "/user/orgs", limit=ORGANIZATIONS),
        forge.offers(),
    )
    return request.render(
        "home.html",
        title="Start",
        own=own,
        organizations=organizations,
        pages=request.pages_of(own.total),
        assigned=assigned,
        reviews=reviews,
        unread=unread["new"],
        offers=offers,
    )


async def _waiting(request: WebRequest, kind: str, title: str) -> Response[str]:
    """The issues or pull requests of all repositories that the caller has to do with."""
    request.require_signed_in()
    kind_there = request.query_params.get("type", "")
    choice = request.query_params.get("filter", TYPES.get(kind_there, "assigned"))
    filters: dict[str, dict[str, str | bool]] = {
        one: {one: True} for one in ("assigned", "created", "mentioned")
    }
    if kind == "pulls":
        filters["review"] = {"review_requested": True}
    filters["repositories"] = {"owner": request.principal.name, "memberships": True}
    choice = choice if choice in filters else "assigned"
    state = "closed" if request.query_params.get("state") == "closed" else "open"
    listing = await request.forge.listing(
        "issues",
        "/repos/issues/search",
        **filters[choice],
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
async def notifications(request: WebRequest) -> Response[Any]:
    """What the caller was told of: what is unread, or with ``?q=read`` what was read; with ``?open=`` to one of them.

    What was offered and waits for an answer is unread.
    """
    request.require_signed_in()
    if thread_id := whole_number(request.query_params.get("open", "")):
        return await _open(request, thread_id)
    is_read = request.query_params.get("q") == "read"
    filters: dict[str, Any] = {"status-types": "read"} if is_read else {}
    list_ = request.forge.listing("issues", "/notifications", page=request.number, limit=PAGE_SIZE, **filters)
    listing, offers = (await list_, None) if is_read else await gather(list_, request.forge.offers())
    return request.render(
        "notifications.html",
        title="Notifications",
        is_read=is_read,
        offers=offers,
        threads=[(thread, _link(request, thread)) for thread in listing.rows],
        pages=request.pages_of(listing.total),
    )


def _link(request: WebRequest, thread: Any) -> str:
    """To what a thread is about. Of an unread one it also marks it as read, which no address does that another site made."""
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
    """How many are unread, for the bar above a page that stays; nothing where that is not known. Anybody else is sent to the list."""
    request.require_signed_in()
    if not request.wants_part:
        return request.redirect("/notifications")
    try:
        count = (await request.forge.get("issues", "/notifications/new"))["new"]
    except ApiError:
        count = 0
    part = request.render("unread.html", in_place="unread.html", count=count)
    # Not asked again with each page; who signs in as somebody else has another cookie.
    part.headers |= {"Cache-Control": f"private, max-age={UNREAD_AGE}", "Vary": "HX-Request, Cookie"}
    return part


def _place(request: WebRequest, thread: Any) -> str:
    """Where it is to be read: the latest comment, which may be on a later page of the timeline, or the issue.

    A path of the site.
    """
    subject = thread["subject"]
    if not subject["latest_comment_url"]:
        return urlsplit(str(subject["html_url"])).path.removeprefix(request.root)
    comment_id = subject["latest_comment_url"].rpartition("/")[2]
    return f"/{thread['repository']['full_name']}/issues/comments/{comment_id}"


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


@post("/user/logout", policy=anyone(), include_in_schema=False)
async def sign_out(request: WebRequest) -> Response[bytes]:
    """End the session of this browser."""
    await request.sent_form()
    with suppress(NotFound):  # it ended meanwhile
        await request.forge.send("DELETE", "identity", at("user", "sessions", request.principal.session_id))
    answer = request.redirect("/")
    is_secure = request.public_url.startswith("https:")
    answer.set_cookie(
        Cookie(
            session_cookie(request.public_url),
            value="",
            path="/",
            max_age=0,
            secure=is_secure,
            httponly=True,
            samesite="lax",
        )
    )
    return answer


routes = [home, issues, pulls, notifications, count_unread, mark_read, sign_out]
