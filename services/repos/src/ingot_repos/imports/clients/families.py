"""Families of sources: a module for each API.

A further one is a module, and an entry here and in ``SOURCES``.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from ingot_repos.imports.clients import gitea, github
from ingot_repos.imports.clients.http import SourceHttp
from ingot_repos.imports.clients.source import Source, SourceFailed


class Address(NamedTuple):
    """A repository: the site with its scheme and path, the owner or the path of its group, and its name."""

    site: str
    owner: str
    name: str


class Family(NamedTuple):
    """An API.

    ``address_of`` reads the URL of a repository. ``api_root`` returns the root of the API of a site.
    ``open`` returns the repository. ``token_scheme`` stands before a token (RFC 9110, section 11.4). Only
    ``with_passwords`` are user names and passwords sent; otherwise the password is a token, too.
    ``headers`` are sent with each request.
    """

    address_of: Callable[[str], Address]
    api_root: Callable[[str], str]
    open: Callable[[SourceHttp, Address], Source]
    token_scheme: str = "Bearer"  # noqa: S105 - no secret
    with_passwords: bool = False
    headers: Mapping[str, str] = MappingProxyType({})


def site_address(clone_url: str) -> Address:
    """Return the address of a repository whose path ends with an owner and a name. Raises SourceFailed."""
    site, segments = _parts(clone_url)
    *prefix, owner, name = segments
    return Address("/".join((site, *prefix)), owner, name)


def _parts(clone_url: str) -> tuple[str, list[str]]:
    """Return the scheme with the host, and at least two segments of the path. Raises SourceFailed."""
    parts = urlsplit(clone_url)
    segments = parts.path.strip("/").removesuffix(".git").split("/")
    if parts.scheme not in ("http", "https") or len(segments) < 2 or not all(segments):
        raise SourceFailed("not-found")
    return f"{parts.scheme}://{parts.netloc}", segments


def _open_gitea(http: SourceHttp, address: Address) -> Source:
    return gitea.GiteaRepository(http, address.owner, address.name)


def _open_gogs(http: SourceHttp, address: Address) -> Source:
    return gitea.GiteaRepository(http, address.owner, address.name, is_gogs=True)


def _open_github(http: SourceHttp, address: Address) -> Source:
    return github.GithubRepository(http, address.owner, address.name)


_GITEA = Family(
    site_address,
    gitea.api_root,
    _open_gitea,
    token_scheme="token",  # noqa: S106 - no secret
    with_passwords=True,
)
FAMILIES: Mapping[str, Family] = {
    "gitea": _GITEA,
    "forgejo": _GITEA,
    "gogs": _GITEA._replace(open=_open_gogs),
    "github": Family(site_address, github.api_root, _open_github, headers=github.HEADERS),
}
