"""Access to the source of an import: its API with the credentials of the import, or its archive."""

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ingot_chassis.security.egress import Egress
from ingot_chassis.security.own_servers import OwnServers
from ingot_chassis.security.sealing import Seal
from ingot_git.storage.storage import Storage
from ingot_remotes.connections.memory import SourceMemory
from ingot_remotes.interface.addresses import Address
from ingot_remotes.interface.source import Kind, Source
from ingot_repos.imports.store import SourceRow
from ingot_repos.remotes.rules.credentials import TOKEN_USERNAME, open_credentials
from ingot_repos.remotes.rules.urls import RemoteUrl
from ingot_repos.remotes.store import RemoteRow
from ingot_repos.settings import Settings

if TYPE_CHECKING:
    from ingot_remotes.connections.http import SourceHttp
    from ingot_remotes.forges.families import Family
    from ingot_remotes.forges.organizations import SourceOrganization
    from ingot_remotes.interface.files import FileLinks

MOST_MEMORIES = 4
ARCHIVE = "archive.zip"
"""The file of an archive in its folder."""


class _Memories:
    """The source memories of imports. The least recently used memory is evicted first."""

    def __init__(self) -> None:
        self._memories = OrderedDict[int, SourceMemory]()

    def of(self, import_id: int) -> SourceMemory:
        memory = self._memories.setdefault(import_id, SourceMemory())
        self._memories.move_to_end(import_id)
        if len(self._memories) > MOST_MEMORIES:
            self._memories.popitem(last=False)
        return memory


class SourceOpener:
    """An opener of APIs of sources, under the rules of egress, and of archives of this shard."""

    def __init__(
        self, seal: Seal, egress: Egress, own_servers: OwnServers, settings: Settings, storage: Storage
    ) -> None:
        self._seal, self._egress, self._own_servers = seal, egress, own_servers
        self._settings, self._storage = settings, storage
        self._of_repositories, self._of_organizations = _Memories(), _Memories()

    def address(self, source: SourceRow, remote: RemoteRow) -> Address:
        """Return the address of the repository at a source. Raises SourceFailed."""
        return _family(source.service).address_of(remote.url)

    def file_links(self, source: SourceRow, remote: RemoteRow) -> "FileLinks":
        """Return the links to files in texts of a repository. Raises SourceFailed."""
        return _family(source.service).file_links(self.address(source, remote))

    def heads(self, source: SourceRow) -> str:
        """Return the ref folder that has the heads of pull requests at the source."""
        return _family(source.service).heads

    def costs(self, service: str) -> dict[Kind, float]:
        """Return the estimated number of requests for one object, by kind."""
        return dict(_family(service).costs)

    @asynccontextmanager
    async def open(self, source: SourceRow, remote: RemoteRow) -> AsyncIterator[Source]:
        """Open the source of an import: its API or its archive. Raises SourceFailed, Unreadable."""
        if source.archive is not None:
            from ingot_remotes.archives.archive import ArchiveSource

            yield ArchiveSource(self._storage.archive_folder(source.archive) / ARCHIVE)
            return
        login = open_credentials(self._seal, remote.sealed)
        memory = self._of_repositories.of(remote.repository_id)
        family = _family(source.service)
        address = family.address_of(remote.url)
        async with self._open(family, address.site, login, memory) as http:
            yield family.open(http, address, source.pull_offset, source.since)

    @asynccontextmanager
    async def open_new(self, service: str, remote: RemoteUrl) -> AsyncIterator[Source]:
        """Open the API of a source before an import. Raises SourceFailed."""
        login = None
        if remote.username or remote.password:
            login = (remote.username or TOKEN_USERNAME, remote.password)
        family = _family(service)
        address = family.address_of(remote.url)
        async with self._open(family, address.site, login, SourceMemory()) as http:
            yield family.open(http, address, None, None)

    @asynccontextmanager
    async def open_organization(
        self, service: str, site: str, name: str, sealed: bytes | None, *, import_id: int | None = None
    ) -> AsyncIterator["SourceOrganization"]:
        """Open an organization of a site. Raises SourceFailed, Unreadable.

        All steps of the import ``import_id`` share one memory.
        """
        family, login = _family(service), open_credentials(self._seal, sealed)
        memory = SourceMemory() if import_id is None else self._of_organizations.of(import_id)
        async with self._open(family, site, login, memory) as http:
            yield family.open_organization(http, name)

    @asynccontextmanager
    async def _open(
        self, family: "Family", site: str, login: tuple[str, str] | None, memory: SourceMemory
    ) -> AsyncIterator["SourceHttp"]:
        from ingot_remotes.connections.http import open_source_http
        from ingot_remotes.connections.sessions import basic_authorization

        headers = dict(family.headers)
        if login is not None:
            username, password = login
            is_token = username == TOKEN_USERNAME or not family.with_passwords
            headers["Authorization"] = (
                f"{family.token_scheme} {password}" if is_token else basic_authorization(username, password)
            )
        async with open_source_http(
            family.api_root(site),
            self._egress,
            self._own_servers,
            headers=headers,
            memory=memory,
            authorities=self._settings.remote_authorities,
        ) as http:
            yield http


def _family(service: str) -> "Family":
    """Return the family of a service. The clients of a family are imported on first use."""
    from ingot_remotes.forges.families import FAMILIES

    return FAMILIES[service]
