"""Checks of the head of a pull request, for the line above all its pages."""

from collections.abc import Coroutine
from typing import Any

from ingot_web.repositories.api.frames import RepositoryFrame


def statuses_of(frame: RepositoryFrame, index: int) -> Coroutine[Any, Any, Any]:
    """Return a request for the statuses of the head of a pull request."""
    return frame.forge.get_if_there("repos", frame.api("commits", f"refs/pull/{index}/head", "status"))
