"""Routes for the home page: the caller's repositories and open work, or the latest repositories."""

from asyncio import gather
from contextlib import suppress
from typing import Any

from litestar import Response, get, post
from litestar.datastructures import Cookie

from ingot_chassis.errors import ApiError, NotFound
from ingot_chassis.http.policy import anyone
from ingot_contracts.identity.credentials import session_cookie
from ingot_web.activities.rules import line_of
from ingot_web.clients.forge import ListPage, at
from ingot_web.pages.api.request import PAGE_SIZE, WebRequest

SHOWN = 6
OWN_PULLS = 30
"""Number of the caller's latest open pull requests whose failed checks are shown."""
ORGANIZATIONS = 10
ACTIVITIES = 10
TYPES = {
    "your_repositories": "repositories",
    "created_by": "created",
    "mentioned": "mentioned",
    "review_requested": "review",
}
"""Filters by their Gitea names in URLs."""


@get("/", policy=anyone(), include_in_schema=False)
async def home(request: WebRequest) -> Response[str]:
    """Show repositories, organizations and open work of the caller, or the latest repositories."""
    forge = request.forge
    if not request.principal.signed_in:
        latest = await forge.listing("repos", "/repos/search", sort="updated", order="desc", limit=PAGE_SIZE)
        return request.render("home/home.html", title="Start", latest=latest)
    search = "/repos/issues/search"
    own, assigned, reviews, mentions, pulls, unread, organizations, offers, activities = await gather(
        forge.listing("repos", "/user/repos", page=request.number, limit=PAGE_SIZE),
        forge.listing("issues", search, assigned=True, state="open", limit=SHOWN),
        forge.listing("issues", search, review_requested=True, state="open", type="pulls", limit=SHOWN),
        forge.listing("issues", search, mentioned=True, state="open", limit=SHOWN),
        forge.listing("issues", search, created=True, state="open", type="pulls", limit=OWN_PULLS),
        forge.get("issues", "/notifications/new"),
        forge.listing("identity", "/user/orgs", limit=ORGANIZATIONS),
        forge.offers(),
        forge.listing("repos", at("users", request.principal.name, "activities", "feeds"), limit=ACTIVITIES),
    )
    await forge.add_check_states(assigned.rows, reviews.rows, mentions.rows, pulls.rows)
    failed = [one for one in pulls.rows if one.get("check_state") == "failure"]
    return request.render(
        "home/home.html",
        title="Start",
        own=own,
        failed=ListPage(failed[:SHOWN], len(failed)),
        organizations=organizations,
        pages=request.pages_of(own.total),
        assigned=assigned,
        reviews=reviews,
        mentions=mentions,
        unread=unread["new"],
        offers=offers,
        lines=[line_of(one) for one in activities.rows],
    )


async def _waiting(request: WebRequest, kind: str, title: str) -> Response[str]:
    """List issues or pull requests of all repositories that concern the caller."""
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
    await request.forge.add_check_states(listing.rows)
    return request.render(
        "home/waiting.html",
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
    """List issues of all repositories that concern the caller."""
    return await _waiting(request, "issues", "Issues")


@get("/pulls", policy=anyone(), include_in_schema=False)
async def pulls(request: WebRequest) -> Response[str]:
    """List pull requests of all repositories that concern the caller."""
    return await _waiting(request, "pulls", "Pull requests")


@post("/user/logout", policy=anyone(), include_in_schema=False)
async def sign_out(request: WebRequest) -> Response[Any]:
    """End the session of this browser, and the session at the provider that began it."""
    await request.sent_form()
    address = await _provider_address(request)
    with suppress(NotFound):  # it has ended already
        await request.forge.send("DELETE", "identity", at("user", "sessions", request.principal.session_id))
    answer: Response[Any] = request.redirect("/")
    if address:
        # Not a redirect: pages allow their forms none to other sites.
        answer = request.render("home/signed_out.html", title="You are signed out", address=address)
        answer.headers["Refresh"] = f"0; url={address}"
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


async def _provider_address(request: WebRequest) -> str:
    """Return the URL that ends the session at the provider, or ""."""
    path = at("user", "sessions", request.principal.session_id, "provider")
    try:
        return str((await request.forge.get("identity", path))["sign_out_url"])
    except ApiError:  # the sign-out here must not depend on it
        return ""


routes = [home, issues, pulls, sign_out]
