"""Where hooks are: the same routes below a repository and below an organization."""

from collections.abc import Callable, Sequence
from typing import Any

from litestar.handlers import HTTPRouteHandler

REPOSITORY = "/api/v1/repos/{owner:str}/{repo:str}"
ORGANIZATION = "/api/v1/orgs/{org:str}"
ORGANIZATION_OF_CLIENTS = "/api/v1/org/{org:str}"
"""How official clients spell the path at which they delete."""


def named(rest: str) -> Callable[[HTTPRouteHandler, Any, Sequence[Any]], str]:
    """The operation id of a route: ``rest`` after repo or org."""

    def name(_handler: HTTPRouteHandler, _method: Any, path: Sequence[Any]) -> str:
        if "repos" in path:
            return f"repo{rest}"
        return f"org{rest}" if "orgs" in path else f"org{rest}Alias"

    return name
