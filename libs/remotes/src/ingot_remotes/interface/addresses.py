"""Addresses of repositories at sources."""

from typing import NamedTuple
from urllib.parse import urlsplit

from ingot_remotes.interface.source import SourceFailed


class Address(NamedTuple):
    """The address of a repository.

    ``site`` is the URL of the site, with its scheme and path. ``owner`` is the owner or the path of the
    group.
    """

    site: str
    owner: str
    name: str


def site_address(clone_url: str) -> Address:
    """Return the address of a repository whose path ends with an owner and a name. Raises SourceFailed."""
    site, segments = _parts(clone_url)
    *prefix, owner, name = segments
    return Address("/".join((site, *prefix)), owner, name)


def _parts(clone_url: str) -> tuple[str, list[str]]:
    """Return scheme and host as one text, and the segments of the path, at least two. Raises SourceFailed."""
    parts = urlsplit(clone_url)
    segments = parts.path.strip("/").removesuffix(".git").split("/")
    if parts.scheme not in ("http", "https") or len(segments) < 2 or not all(segments):
        raise SourceFailed("not-found")
    return f"{parts.scheme}://{parts.netloc}", segments


def group_address(clone_url: str) -> Address:
    """Return the address of a repository in a group. The path of a group may have many segments.

    Raises SourceFailed.
    """
    site, (*groups, name) = _parts(clone_url)
    return Address(site, "/".join(groups), name)
