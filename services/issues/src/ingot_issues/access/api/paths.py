"""Paths below a repository.

The API description has ``issue`` in some paths, but clients use ``issues``. Both are served.
"""

from collections.abc import Callable, Sequence
from typing import Any

from litestar.handlers import HTTPRouteHandler

REPOSITORY = "/api/v1/repos/{owner:str}/{repo:str}"
PAGES = "/{owner:str}/{repo:str}"
"""The page of a repository in a browser."""


def on_issue(rest: str) -> list[str]:
    """Return the paths of a route below one issue in both spellings."""
    return [f"/issues/{{index:int}}{rest}", f"/issue/{{index:int}}{rest}"]


def operation_ids(operation_id: str, spelling: str) -> Callable[[HTTPRouteHandler, Any, Sequence[Any]], str]:
    """Return a function that names the operation of a route that has two paths.

    The path with ``spelling`` gets ``operation_id``, as in the API description. The other path gets an alias.
    """

    def name(_handler: HTTPRouteHandler, _method: Any, path: Sequence[Any]) -> str:
        return operation_id if spelling in path else f"{operation_id}Alias"

    return name
