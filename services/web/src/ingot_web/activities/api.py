"""Routes for feeds of activities of users, organizations and repositories."""

from typing import Any
from urllib.parse import quote

from litestar import Response

from ingot_web.activities.rules import line_of
from ingot_web.clients.forge import ListPage, at
from ingot_web.pages.api.feeds import feed
from ingot_web.pages.api.request import WebRequest

ENDINGS = (".atom", ".rss")
ENTRIES = 20


def without_ending(name: str) -> tuple[str, str]:
    """Split a name in a path into the name and its feed suffix, which may be empty."""
    for ending in ENDINGS:
        if name.lower().endswith(ending) and len(name) > len(ending):
            return name[: -len(ending)], ending
    return name, ""


async def account_feed(request: WebRequest, owner: str, ending: str) -> Response[str]:
    """Return the feed of a user or an organization."""
    account = await request.forge.get("identity", at("users", owner))
    listing = await request.forge.listing("repos", at("users", owner, "activities", "feeds"), **BY_THE_USER)
    return _feed(request, f"Activities of {account['login']}", at(account["login"]), listing, ending)


async def repository_feed(request: WebRequest, owner: str, name: str, ending: str) -> Response[str]:
    """Return the feed of a repository."""
    path = at("repos", owner, name, "activities", "feeds")
    listing = await request.forge.listing("repos", path, limit=ENTRIES)
    return _feed(request, f"Activities in {owner}/{name}", at(owner, name), listing, ending)


BY_THE_USER: dict[str, Any] = {"only-performed-by": True, "limit": ENTRIES}


def _feed(request: WebRequest, title: str, page: str, listing: ListPage, ending: str) -> Response[str]:
    entries = [_entry(request, activity) for activity in listing.rows]
    return feed(request, ending.removeprefix("."), title, page, entries)


def _entry(request: WebRequest, activity: Any) -> dict[str, str]:
    line = line_of(activity)
    path, _, anchor = line.path.partition("#")
    url = f"{request.public_url.rstrip('/')}{quote(path, safe='/%')}{'#' if anchor else ''}{anchor}"
    return {
        "title": line.title,
        "url": url,
        "id": f"{url.partition('#')[0]}#activity-{activity['id']}",
        "time": activity["created"],
        "author": activity["act_user"]["login"],
        "text": "\n".join(line.lines),
    }
