"""Paths below a repository.

The API description spells some paths with ``issue``, clients use ``issues``. Both are served.
"""

from collections.abc import Callable, Sequence
from typing import Any

from litestar.handlers import HTTPRouteHandler

REPOSITORY = "/api/v1/repos/{owner:str}/{repo:str}"
PAGES = "/{owner:str}/{repo:str}"
"""The page of a repository in a browser."""


def on_issue(rest: str) -> list[str]:
    """Return both spellings of a path below one issue."""
    return [f"/issues/{{index:int}}{rest}", f"/issue/{{index:int}}{rest}"]


def operation_ids(operation_id: str, spelling: str) -> Callable[[HTTPRouteHandler, Any, Sequence[Any]], str]:
    """Return the operation ids of a route with both spellings.

    The ``spelling`` of the API description gets the id of the API description.
    """

    def name(_handler: HTTPRouteHandler, _method: Any, path: Sequence[Any]) -> str:
        return operation_id if spelling in path else f"{operation_id}Alias"

    return name
