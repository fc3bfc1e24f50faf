"""The table of ``routes.txt``: every public route and its policy."""

import re
from pathlib import Path
from typing import NamedTuple

REPOSITORY = "/api/v1/repos/{owner}/{repo}"
UNDECIDED = "[?]"
"""The heading of routes that have no policy yet, as ``write_routes`` adds them."""
_KINDS = {"!": "action", "-": "unaudited"}


class Route(NamedTuple):
    """A route. ``path`` is as the gateway takes it, with its placeholders; ``scope`` is required of a token.

    ``action`` is its name in the audit log, ``unaudited`` the reason for its absence there.
    """

    method: str
    path: str
    policy: str
    scope: str = ""
    action: str = ""
    unaudited: str = ""

    @property
    def placeholders(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def place(self) -> str:
        """Return the kind of object in the path: a repository, an organization, a team, or none."""
        named = {*self.placeholders}
        if self.path.startswith("/api/v1/admin/unadopted"):
            return ""  # folders of repositories that do not exist yet
        if "repository_id" in named or {"owner", "repo"} <= named:
            return "repository"
        if "team_id" in named:
            return "team"
        return "organization" if "org" in named else ""


def full_name(text: str) -> str:
    """The name of the route that the table has as ``METHOD path``."""
    method, path = text.split()
    return f"{method} {_full(path)}"


def _full(path: str) -> str:
    if path.startswith("~"):
        return REPOSITORY + path[1:]
    return path[1:] if path.startswith("//") else f"/api/v1{path}"


def _routes() -> list[Route]:
    routes, policy = [], ""
    text = Path(__file__).with_suffix(".txt").read_text()
    assert UNDECIDED not in text, "routes.txt has routes without a policy"
    for line in text.splitlines():
        if line.startswith("["):
            policy = line.strip("[]")
        elif line and not line.startswith("#"):
            method, path, *words = line.split()
            named = {_KINDS.get(word[0], "scope"): word.lstrip("!-") for word in words}
            routes.append(Route(method, _full(path), policy, **named))
    return routes


ROUTES = _routes()
