"""The layout of the archive of an organization, and its writer, which needs no disk.

The archive is a ZIP file with the archive of each repository, stored as it is. The manifest is its last file.
"""

import zipfile
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from datetime import datetime
from typing import Any

import msgspec

FORMAT, VERSION = "ingot-organization", 1
MANIFEST = "organization.json"
MOST_MANIFEST_BYTES = 64 * 1024 * 1024
"""Limit of the manifest: an import reads it into memory."""
ENTRY_BYTES = 1_000
"""Bytes that suffice for the two heads of an entry of the ZIP file."""
_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of all entries, so equal contents have an equal archive."""


class ArchivedMember(msgspec.Struct, frozen=True):
    login: str


class ArchivedTeam(msgspec.Struct, frozen=True, kw_only=True):
    """A team with the names of its repositories: none for a team that has all repositories."""

    name: str
    description: str
    permission: str
    units_map: dict[str, str]
    includes_all_repositories: bool
    can_create_org_repo: bool
    members: list[ArchivedMember]
    repositories: list[str]


class ArchivedLabel(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    color: str
    description: str
    exclusive: bool
    is_archived: bool


class ArchivedRepository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository, with the path and the hash of its archive."""

    name: str
    path: str
    sha256: str


class LeftOutRepository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository of the organization that the archive lacks."""

    name: str
    error: str


class OrganizationManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of ``organization.json``."""

    format: str = FORMAT
    version: int = VERSION
    created_at: datetime
    url: str
    name: str
    full_name: str
    description: str
    website: str
    location: str
    email: str
    visibility: str
    teams: list[ArchivedTeam]
    labels: list[ArchivedLabel]
    repositories: list[ArchivedRepository]
    left_out: list[LeftOutRepository]


def archive_path(number: int) -> str:
    """Return the path of the archive of a repository, by its number from 1."""
    return f"repositories/{number:05}.zip"


def encode_manifest(manifest: OrganizationManifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1)


async def write_parts(
    archives: Iterable[tuple[str, AsyncIterable[bytes]]], manifest: bytes
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of the archive of an organization. ``archives`` are paths with their contents.

    At most one chunk of the contents is in memory.
    """
    target = _Buffer()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for path, chunks in archives:
            with archive.open(zipfile.ZipInfo(path, _TIME), "w", force_zip64=True) as entry:
                async for chunk in chunks:
                    entry.write(chunk)
                    yield target.take()
        archive.writestr(zipfile.ZipInfo(MANIFEST, _TIME), manifest)
    yield target.take()


class _Buffer:
    """A file that cannot be rewound, from which its bytes are taken."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def write(self, content: Any) -> int:
        self._bytes += content
        return len(content)

    def flush(self) -> None:
        """Do nothing: ZipFile calls it."""

    def close(self) -> None:
        """Do nothing: the bytes are still to be taken."""

    def take(self) -> bytes:
        content = bytes(self._bytes)
        self._bytes.clear()
        return content
