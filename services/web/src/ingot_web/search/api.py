"""The page that searches repositories, people, issues, files of one repository, and commands.

The command palette shows the results in a dialog.
"""

from asyncio import gather
from typing import Any
from urllib.parse import quote

from litestar import Response, get

from ingot_chassis.http.policy import anyone
from ingot_web.clients.forge import ListPage, at
from ingot_web.pages.api.request import WebRequest

ROWS = 5
"""Of each kind."""
LONGEST = 200
"""Characters that services search for."""
COMMANDS = (
    ("New repository", "/repo/create"), ("New organization", "/org/create"), ("Your issues", "/issues"),
    ("Your pull requests", "/pulls"), ("Notifications", "/notifications"), ("Settings", "/user/settings"),
)  # fmt: skip
"""For people who are signed in."""
COMMANDS_OF_REPOSITORY = (
    ("New issue", "/issues/new"), ("Issues", "/issues"), ("Pull requests", "/pulls"),
    ("Search code", "/search"), ("Branches", "/branches"), ("Releases", "/releases"),
)  # fmt: skip


@get("/search", policy=anyone(), include_in_schema=False)
async def search(request: WebRequest) -> Response[str]:
    """Show results for ``q`` that the caller may see. ``in`` is a repository such as ``owner/name``."""
    words = request.query_params.get("q", "").strip()[:LONGEST]
    repository = await _repository(request)
    nothing = ListPage([], 0)
    repositories = people = issues = nothing
    files: list[str] = []
    if words:
        repositories, people, issues, files = await gather(
            request.forge.listing("repos", "/repos/search", q=words, limit=ROWS),
            request.forge.listing_if_there("identity", "/users/search", q=words, limit=ROWS),
            request.forge.listing_if_there(
                "issues", "/repos/issues/search", q=words, limit=ROWS, state="all"
            ),
            _files(request, repository, words),
        )
    return request.render(
        "search/page.html",
        in_place="search/results.html",
        title="Search",
        words=words,
        repository=repository,
        commands=_commands(request, repository, words.lower()),
        repositories=repositories.rows,
        people=people.rows,
        issues=issues.rows,
        files=files,
    )


async def _repository(request: WebRequest) -> Any:
    """Return the repository in the query; None if it does not exist or the caller may not see it."""
    owner, _, name = request.query_params.get("in", "").partition("/")
    if {owner, name} & {"", ".", ".."} or "/" in name:
        return None
    return await request.forge.get_if_there("repos", at("repos", owner, name))


async def _files(request: WebRequest, repository: Any, words: str) -> list[str]:
    """Return paths of files of the default branch that contain ``words``.

    Empty without a repository, or if the caller may not read its code.
    """
    if repository is None or not repository["has_code"] or repository["empty"]:
        return []
    branch = repository["default_branch"].split("/")
    tree = await request.forge.get_if_there(
        "repos",
        at("repos", *repository["full_name"].split("/"), "git", "trees", "refs", "heads", *branch),
        recursive=True,
        per_page=ROWS,
        q=words,
    )
    return [entry["path"] for entry in tree["tree"] if entry["type"] == "blob"] if tree else []


def _commands(request: WebRequest, repository: Any, words: str) -> list[tuple[str, str]]:
    """Return names and paths of commands whose names contain the words."""
    commands = list(COMMANDS) if request.principal.signed_in else []
    if repository is not None:
        base = "/" + quote(repository["full_name"])
        commands = [(name, base + path) for name, path in COMMANDS_OF_REPOSITORY] + commands
    return [(name, path) for name, path in commands if words in name.lower()]


routes = [search]
