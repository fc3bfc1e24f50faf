"""Families of sources: a module for each API.

To add a family, add a module, and an entry here and in ``SOURCES``.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from ingot_git.refs.pull_heads import PULLS
from ingot_remotes.connections.http import SourceHttp
from ingot_remotes.forges import gitea, github, gitlab
from ingot_remotes.forges.organizations import (
    GiteaOrganization,
    GithubOrganization,
    GitlabGroup,
    GogsOrganization,
    SourceOrganization,
)
from ingot_remotes.interface.addresses import Address, group_address, site_address
from ingot_remotes.interface.files import FileLinks, gitea_files, github_files, gitlab_files
from ingot_remotes.interface.source import Kind, Source


class Family(NamedTuple):
    """A family of forges with the same API.

    - ``address_of`` parses the URL of a repository.
    - ``api_root`` returns the root of the API of a site.
    - ``open`` returns the repository. Its last arguments are the offset of its pull requests, and a time.
      Both may be None. Issues, pull requests and comments that did not change since that time are omitted,
      where the API supports this.
    - ``open_organization`` returns the organization with a name.
    - ``heads`` is the ref folder with the heads of pull requests by number.
    - ``token_scheme`` is the authentication scheme of a token (RFC 9110, section 11.4).
    - ``with_passwords``: the API accepts user names and passwords. Otherwise a password is sent as a token.
    - ``headers`` are sent with each request.
    - ``file_links`` returns the pattern of links to files in texts.
    - ``costs`` estimates the requests for an object of each kind.
    """

    address_of: Callable[[str], Address]
    api_root: Callable[[str], str]
    open: Callable[[SourceHttp, Address, int | None, datetime | None], Source]
    open_organization: Callable[[SourceHttp, str], SourceOrganization]
    heads: str = PULLS
    token_scheme: str = "Bearer"  # noqa: S105 - no secret
    with_passwords: bool = False
    headers: Mapping[str, str] = MappingProxyType({})
    file_links: Callable[[Address], FileLinks] = gitea_files
    costs: Mapping[Kind, float] = MappingProxyType({})


def _open_gitea(
    http: SourceHttp, address: Address, _pull_offset: int | None, _since: datetime | None
) -> Source:
    return gitea.GiteaRepository(http, address.owner, address.name)


def _open_gogs(
    http: SourceHttp, address: Address, _pull_offset: int | None, _since: datetime | None
) -> Source:
    return gitea.GiteaRepository(http, address.owner, address.name, is_gogs=True)


def _open_github(
    http: SourceHttp, address: Address, _pull_offset: int | None, since: datetime | None
) -> Source:
    return github.GithubRepository(http, address.owner, address.name, since)


def _open_gitlab(
    http: SourceHttp, address: Address, pull_offset: int | None, since: datetime | None
) -> Source:
    path = f"{address.owner}/{address.name}"
    return gitlab.GitlabRepository(http, address.site, path, pull_offset, since)


_GITEA = Family(site_address, gitea.api_root, _open_gitea, GiteaOrganization)._replace(
    token_scheme="token",  # noqa: S106 - no secret
    with_passwords=True,
    costs=gitea.COSTS,
)
FAMILIES: Mapping[str, Family] = {
    "gitea": _GITEA,
    "forgejo": _GITEA,
    "gogs": _GITEA._replace(open=_open_gogs, open_organization=GogsOrganization),
    "github": Family(
        site_address,
        github.api_root,
        _open_github,
        GithubOrganization,
        headers=github.HEADERS,
        file_links=github_files,
        costs=github.COSTS,
    ),
    "gitlab": Family(
        group_address,
        gitlab.api_root,
        _open_gitlab,
        GitlabGroup,
        heads="refs/merge-requests/",
        file_links=gitlab_files,
        costs=gitlab.COSTS,
    ),
}
