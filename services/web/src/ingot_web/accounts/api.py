"""Routes for users and organizations: their pages, lists, search, and following."""

from asyncio import gather
from typing import Any

from litestar import Response, get, post

from ingot_chassis.clock import now
from ingot_chassis.http.policy import anyone
from ingot_web.activities.api import account_feed, without_ending
from ingot_web.activities.rules import heatmap_of, line_of
from ingot_web.clients.forge import ListPage, at
from ingot_web.pages.api.request import PAGE_SIZE, WebRequest

TABS_OF_PERSON = ("repositories", "activity", "stars", "followers", "following")
TABS_OF_ORGANIZATION = ("repositories", "activity", "members", "teams")
SORTS = {"updated": "Updated last", "newest": "Newest", "alpha": "By name", "stars": "Most stars"}
STATES = {"open": "Open", "closed": "Closed", "all": "All"}
_SORT = {
    "updated": ("updated", "desc"),
    "newest": ("created", "desc"),
    "alpha": ("alpha", "asc"),
    "stars": ("stars", "desc"),
}
NAMES = 8
"""Maximum number of completions for a field."""
LEAST = 2
"""Minimum characters in a field before it is completed."""
MATCHES = 50
"""Number of accounts or teams that are read for completions. Some match only by full name or address."""


@get("/{owner:str}", policy=anyone(), include_in_schema=False)
async def profile(request: WebRequest, owner: str) -> Response[str]:
    """Show the page of a user or organization. Return their feed if the path ends with a feed suffix."""
    owner, ending = without_ending(owner)
    if ending:
        return await account_feed(request, owner, ending)
    forge = request.forge
    account, organization = await gather(
        forge.get("identity", "/users" + at(owner)), forge.get_if_there("identity", "/orgs" + at(owner))
    )
    tab = request.query_params.get("tab", "repositories")
    tabs = TABS_OF_ORGANIZATION if organization else TABS_OF_PERSON
    tab = tab if tab in tabs else "repositories"
    shows_heatmap = tab == "activity" and organization is None
    listing, organizations, follows, rights, slots = await gather(
        _listing(request, owner, tab, is_organization=organization is not None),
        request.forge.rows_if_there("identity", at("users", owner, "orgs"))
        if organization is None
        else _unknown(),
        _follows(request, owner) if organization is None else _unknown(),
        _rights(request, owner) if organization is not None else _unknown(),
        forge.get_if_there("repos", at("users", owner, "heatmap")) if shows_heatmap else _unknown(),
    )
    return request.render(
        "accounts/profile.html",
        title=account["full_name"] or account["login"],
        account=account,
        organization=organization,
        tabs=tabs,
        tab=tab,
        canonical=[("tab", tab)] if tab != "repositories" else [],
        listing=listing,
        organizations=organizations,
        follows=follows,
        rights=rights,
        lines=[line_of(one) for one in listing.rows] if tab == "activity" else [],
        heatmap=heatmap_of(slots, now().date()) if slots is not None else None,
        pages=request.pages_of(listing.total),
    )


async def _listing(request: WebRequest, owner: str, tab: str, *, is_organization: bool) -> ListPage:
    """Return the rows of a tab on the page of ``owner``."""
    user, group = at("users", owner), at("orgs", owner)
    filters = {"only-performed-by": True} if tab == "activity" and not is_organization else {}
    service, path = {
        "repositories": ("repos", f"{group}/repos" if is_organization else f"{user}/repos"),
        "activity": ("repos", f"{group if is_organization else user}/activities/feeds"),
        "stars": ("repos", f"{user}/starred"),
        "followers": ("identity", f"{user}/followers"),
        "following": ("identity", f"{user}/following"),
        "members": ("identity", f"{group}/members"),
        "teams": ("identity", f"{group}/teams"),
    }[tab]
    return await request.forge.listing_if_there(
        service, path, page=request.number, limit=PAGE_SIZE, **filters
    )


async def _unknown() -> None:
    return None


async def _rights(request: WebRequest, owner: str) -> Any:
    """Return the permissions of the caller in an organization; None for an anonymous caller."""
    own = request.principal
    if not own.signed_in:
        return None
    if own.admin:
        return {"can_read": True, "can_create_repository": True}
    return await request.forge.get_if_there("identity", at("users", own.name, "orgs", owner, "permissions"))


async def _follows(request: WebRequest, owner: str) -> bool | None:
    """True if the caller follows ``owner``; None for anonymous callers and for the caller's own account."""
    own = request.principal
    if not own.signed_in or own.name.lower() == owner.lower():
        return None
    return await request.forge.is_there("identity", at("user", "following", owner))


@post("/{owner:str}/follow", policy=anyone(), include_in_schema=False)
async def follow(request: WebRequest, owner: str) -> Response[bytes]:
    """Follow an account, or stop following it."""
    form = await request.sent_form()
    method = "DELETE" if form.has("stop") else "PUT"
    await request.forge.send(method, "identity", at("user", "following", owner))
    return request.redirect(at(owner))


@get("/explore", policy=anyone(), include_in_schema=False)
async def explore(request: WebRequest) -> Response[bytes]:
    """Redirect to the first list of the explore pages."""
    return request.redirect("/explore/repos")


@get("/explore/repos", policy=anyone(), include_in_schema=False)
async def explore_repositories(request: WebRequest) -> Response[str]:
    """List the repositories that the caller may see, filtered by name or topic."""
    sort = request.query_params.get("sort", "updated")
    sort = sort if sort in SORTS else "updated"
    filters: dict[str, Any] = {"topic": True} if request.query_params.get("topic") else {}
    words = request.query_params.get("q", "")
    if words:
        filters["q"] = words
    by, order = _SORT[sort]
    listing = await request.forge.listing(
        "repos", "/repos/search", page=request.number, limit=PAGE_SIZE, sort=by, order=order, **filters
    )
    return _explored(request, "repos", listing, words=words, sort=sort)


@get("/explore/users", policy=anyone(), include_in_schema=False)
async def explore_users(request: WebRequest) -> Response[str]:
    """List all users that the caller may see."""
    words = request.query_params.get("q", "")
    filters: dict[str, Any] = {"q": words} if words else {}
    listing = await request.forge.listing(
        "identity", "/users/search", page=request.number, limit=PAGE_SIZE, **filters
    )
    return _explored(request, "users", listing, words=words)


@get("/explore/names", policy=anyone(), include_in_schema=False)
async def complete_names(request: WebRequest) -> Response[Any]:
    """Suggest logins for a field, or with ``org`` names of teams of that organization.

    The text is the value of the other query parameter, whose name is ignored.
    """
    if not request.wants_part:
        return request.redirect("/explore/users")
    org = request.query_params.get("org", "")
    values = (value for name, value in request.query_params.multi_items() if name != "org")
    words = next(values, "").strip().lower()
    names: list[str] = []
    if len(words) >= LEAST:
        path, key = (at("orgs", org, "teams", "search"), "name") if org else ("/users/search", "login")
        filters: dict[str, Any] = {"include_desc": False} if org else {}
        listing = await request.forge.listing_if_there("identity", path, q=words, limit=MATCHES, **filters)
        # Browsers show no completion without the text.
        names = [one[key] for one in listing.rows if words in one[key].lower()]
        names.sort(key=lambda name: not name.lower().startswith(words))
    return request.render("accounts/names.html", names=names[:NAMES])


@get("/explore/organizations", policy=anyone(), include_in_schema=False)
async def explore_organizations(request: WebRequest) -> Response[str]:
    """List all organizations that the caller may see, by name."""
    words = request.query_params.get("q", "")
    filters: dict[str, Any] = {"q": words} if words else {}
    listing = await request.forge.listing(
        "identity", "/orgs", page=request.number, limit=PAGE_SIZE, **filters
    )
    return _explored(request, "organizations", listing, words=words)


@get("/explore/issues", policy=anyone(), include_in_schema=False)
async def explore_issues(request: WebRequest) -> Response[str]:
    """List issues and pull requests of all visible repositories, filtered by words and state."""
    words = request.query_params.get("q", "")
    state = request.query_params.get("state", "")
    state = state if state in STATES else "open"
    filters: dict[str, Any] = {"q": words} if words else {}
    listing = await request.forge.listing_if_there(
        "issues", "/repos/issues/search", page=request.number, limit=PAGE_SIZE, state=state, **filters
    )
    await request.forge.add_check_states(listing.rows)
    return _explored(request, "issues", listing, words=words, state=state)


def _explored(
    request: WebRequest, kind: str, listing: ListPage, *, words: str = "", sort: str = "", state: str = ""
) -> Response[str]:
    return request.render(
        "accounts/explore.html",
        title="Explore",
        kind=kind,
        listing=listing,
        words=words,
        sort=sort,
        sorts=SORTS,
        state=state,
        states=STATES,
        pages=request.pages_of(listing.total),
    )


routes = [
    explore, explore_repositories, explore_users, complete_names, explore_organizations, explore_issues,
    profile, follow,
]  # fmt: skip
