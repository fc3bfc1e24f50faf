"""``ingot export --organization`` and ``ingot import --organization``: a whole organization in one file.

The file is a ZIP with the archive of each repository, stored as it is (docs/reference/archives.md). One
repository is exported or imported at a time, so the disk needs room for the file and one archive.
"""

import asyncio
import hashlib
import json
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.errors import CannotStart
from ingot_remotes.archives.organization_layout import (
    FORMAT,
    MANIFEST,
    MOST_MANIFEST_BYTES,
    VERSION,
    archive_path,
)
from ingot_standalone.archives import (
    BLOCK,
    UNFINISHED,
    Refused,
    RemoteRepository,
    RemoteServer,
    ingot_answers,
    open_private,
    printable,
    read_archive,
    repository_at,
    segment,
    write_archive,
)
from ingot_standalone.console import say

PROFILE = ("full_name", "description", "website", "location", "email", "visibility")
TEAM = (
    "name",
    "description",
    "permission",
    "units_map",
    "includes_all_repositories",
    "can_create_org_repo",
)
LABEL = ("name", "color", "description", "exclusive", "is_archived")
OWNERS = "owners"
_DAMAGED = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    msgspec.MsgspecError,
    EOFError,
    KeyError,
    OverflowError,
    RuntimeError,
    ValueError,
)
"""Errors of files that are no archives: RuntimeError of encrypted ones, or of methods that are unknown."""
Object = dict[str, Any]


class _Member(msgspec.Struct):
    login: str


class _Team(msgspec.Struct):
    name: str
    members: list[_Member] = []
    repositories: list[str] = []


class _Repository(msgspec.Struct):
    name: str
    path: str
    sha256: str


class _LeftOut(msgspec.Struct):
    name: str
    error: str = ""


class _Manifest(msgspec.Struct):
    """The fields of the manifest that the import reads. ``left_out``: repositories that the file lacks."""

    format: str
    version: int
    labels: list[dict[str, Any]]
    teams: list[_Team]
    repositories: list[_Repository]
    left_out: list[_LeftOut] = []


class RemoteOrganization(NamedTuple):
    """An organization of a server."""

    server: RemoteServer
    name: str

    @property
    def path(self) -> str:
        return f"orgs/{segment(self.name)}"

    @property
    def url(self) -> str:
        return f"{self.server.site}/{self.name}"


def organization_at(url: str, token: str) -> RemoteOrganization:
    """Return the organization whose page has this address. Raises CannotStart."""
    try:
        repository = repository_at(f"{url.rstrip('/')}/x", token)
    except CannotStart:
        raise CannotStart(
            f"{url!r} is not the address of an organization, such as https://git.example.org/crew"
        ) from None
    return RemoteOrganization(repository.server, repository.owner)


async def export_organization(url: str, target: Path, *, token: str) -> None:
    """Export an organization into a new file. Its archives at the server are deleted afterwards.

    Raises CannotStart; then no file is left.
    """
    organization = organization_at(url, token)
    if await asyncio.to_thread(target.exists):
        raise CannotStart(f"{target} exists; name another file")
    unfinished = target.with_name(target.name + UNFINISHED)
    try:
        await asyncio.to_thread(unfinished.unlink, missing_ok=True)
        with (
            tempfile.TemporaryDirectory(dir=target.parent) as scratch,
            open(unfinished, "xb", opener=open_private) as file,  # noqa: ASYNC230 - opening is short
            zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
        ):
            with ingot_answers(organization.server):
                manifest = await asyncio.to_thread(_read_organization, organization)
            for number, one in enumerate(manifest["repositories"], 1):
                repository = RemoteRepository(organization.server, organization.name, one["name"])
                path = Path(scratch, "repository.zip")
                await write_archive(repository, path, stays=False)
                one["path"] = archive_path(number)
                one["sha256"] = await asyncio.to_thread(_add, archive, one["path"], path)
                say(f"{number} of {len(manifest['repositories'])}: {repository.url}")
            archive.writestr(MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1))
        await asyncio.to_thread(unfinished.rename, target)
    except OSError as error:
        raise CannotStart(f"{target} cannot be written: {error}") from None
    finally:
        unfinished.unlink(missing_ok=True)
    say(f"{target} has {organization.url}: {len(manifest['repositories'])} repositories")


def _read_organization(organization: RemoteOrganization) -> Object:
    """Return the manifest, with repositories that have no archives yet. Blocks. Raises CannotStart."""
    server, path = organization.server, organization.path
    profile = server.get("GET", path)
    _require_owner(organization)
    teams = []
    for team in server.all(f"{path}/teams"):
        at = f"teams/{team['id']}"
        members = [{"login": one["login"]} for one in server.all(f"{at}/members")]
        has_all = team.get("includes_all_repositories") or team["name"].lower() == OWNERS
        repositories = [] if has_all else [one["name"] for one in server.all(f"{at}/repos")]
        teams.append({**_fields(team, TEAM), "members": members, "repositories": repositories})
    return {
        "format": FORMAT,
        "version": VERSION,
        "created_at": now().isoformat(),
        "url": organization.url,
        "name": profile["username"],
        **_fields(profile, PROFILE),
        "teams": teams,
        "labels": [_fields(one, LABEL) for one in server.all(f"{path}/labels")],
        "repositories": [{"name": one["name"]} for one in server.all(f"{path}/repos")],
    }


def _require_owner(organization: RemoteOrganization) -> None:
    """Raise CannotStart unless the caller sees all data of the organization. Blocks."""
    caller = organization.server.get("GET", "user")
    path = f"users/{segment(caller['login'])}/{organization.path}/permissions"
    if not (caller.get("is_admin") or organization.server.get("GET", path)["is_owner"]):
        raise CannotStart(f"only an owner of {organization.name} sees all of it and exports it")


def _fields(answer: Mapping[str, Any], names: Sequence[str]) -> Object:
    return {name: answer[name] for name in names if name in answer}


def _add(archive: zipfile.ZipFile, name: str, path: Path) -> str:
    """Move a file into the archive, and return its SHA-256 in hexadecimal digits. Blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as source, archive.open(name, "w", force_zip64=True) as target:
        while block := source.read(BLOCK):
            digest.update(block)
            target.write(block)
    path.unlink()
    return digest.hexdigest()


async def import_organization(source: Path, url: str, *, token: str, map_logins: bool) -> None:
    """Create an organization from a file. The caller becomes an owner. Raises CannotStart.

    With ``map_logins``, accounts with the same logins become members of teams and authors. Otherwise teams
    get no members. People are not found by e-mail address, because a server may show unconfirmed addresses.
    """
    organization = organization_at(url, token)
    with _opened(source) as archive:
        with _damages(source):
            manifest = await asyncio.to_thread(_manifest, archive)
        await asyncio.to_thread(_create_organization, organization, manifest)
        came: list[str] = []
        try:
            await asyncio.to_thread(_create_labels, organization, manifest)
            await _create_repositories(organization, archive, source, manifest, came, map_logins=map_logins)
            absent = await asyncio.to_thread(_create_teams, organization, manifest, map_logins=map_logins)
        except CannotStart as error:
            raise CannotStart(f"{error}; {_undo(url, manifest, came)}") from None
        except asyncio.CancelledError:
            say(_undo(url, manifest, came))
            raise
    say(f"{url} is here: {len(came)} repositories, {len(manifest['teams'])} teams")
    for one in manifest.get("left_out", []):
        say(f"{printable(one['name'])} is not in {source}: {printable(one.get('error', ''))}")
    if absent:
        say(f"who did not join teams: {', '.join(sorted(absent))}")


def _undo(url: str, manifest: Object, came: Sequence[str]) -> str:
    """Return a text about the state after a stopped import, and the steps to undo it."""
    return (
        f"{url} has {len(came)} of {len(manifest['repositories'])} repositories, and teams may be missing: "
        "delete its repositories and the organization, and begin again"
    )


def _create_organization(organization: RemoteOrganization, manifest: Object) -> None:
    """Create the organization. Blocks. Raises CannotStart."""
    new = {**_fields(manifest, PROFILE), "username": organization.name}
    with ingot_answers(organization.server):
        organization.server.get("POST", "orgs", new)


def _create_labels(organization: RemoteOrganization, manifest: Object) -> None:
    """Create the labels of the organization. Blocks. Raises CannotStart."""
    with ingot_answers(organization.server):
        for label in manifest["labels"]:
            organization.server.get("POST", f"{organization.path}/labels", _fields(label, LABEL))


async def _create_repositories(
    organization: RemoteOrganization,
    archive: zipfile.ZipFile,
    source: Path,
    manifest: Object,
    came: list[str],
    *,
    map_logins: bool,
) -> None:
    """Import the repositories one after the other. Append the name of each one to ``came``.

    Raises CannotStart.
    """
    with _damages(source), tempfile.TemporaryDirectory(dir=source.parent) as scratch:
        for number, one in enumerate(manifest["repositories"], 1):
            path = Path(scratch, "repository.zip")
            await asyncio.to_thread(_extract, archive, one, path)
            repository = RemoteRepository(organization.server, organization.name, one["name"])
            try:
                await read_archive(repository, path, private=None, map_logins=map_logins)
            except CannotStart as error:
                raise CannotStart(f"{repository.url}: {error}") from None
            came.append(one["name"])
            say(f"{number} of {len(manifest['repositories'])}: {repository.url}")


@contextmanager
def _opened(source: Path) -> Iterator[zipfile.ZipFile]:
    """Open a file with an organization. Raises CannotStart."""
    with ExitStack() as stack:
        with _damages(source):
            archive = stack.enter_context(zipfile.ZipFile(source))
        yield archive


@contextmanager
def _damages(source: Path) -> Iterator[None]:
    """Convert errors of reading and unpacking the file ``source`` to CannotStart."""
    try:
        yield
    except FileNotFoundError:
        raise CannotStart(f"{source} does not exist") from None
    except OSError as error:
        raise CannotStart(f"{source} cannot be read or unpacked: {error}") from None
    except _DAMAGED as error:
        raise CannotStart(f"{source} is not an archive of an organization: {error!r}") from None


def _manifest(archive: zipfile.ZipFile) -> Object:
    """Check the fields and the version of the manifest, and return it. Blocks.

    Raises the errors in ``_DAMAGED``.
    """
    if archive.getinfo(MANIFEST).file_size > MOST_MANIFEST_BYTES:
        raise ValueError(f"{MANIFEST} has more than {MOST_MANIFEST_BYTES:,} bytes")
    text = archive.read(MANIFEST)
    checked = msgspec.json.decode(text, type=_Manifest)
    if (checked.format, checked.version) != (FORMAT, VERSION):
        raise ValueError(f"{MANIFEST} has another version than {VERSION}")
    for one in checked.repositories:
        if archive.getinfo(one.path).compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{one.path} is compressed")
    manifest: Object = json.loads(text)
    return manifest


def _extract(archive: zipfile.ZipFile, one: Mapping[str, str], target: Path) -> None:
    """Copy the archive of a repository out of the file. Blocks. Raises ValueError if it is damaged."""
    with archive.open(one["path"]) as source, target.open("wb") as file:
        shutil.copyfileobj(source, file, BLOCK)
    with target.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != one["sha256"]:
            raise ValueError(f"{one['path']} is not the file that {MANIFEST} names: its sha256 differs")


def _create_teams(organization: RemoteOrganization, manifest: Object, *, map_logins: bool) -> set[str]:
    """Create the teams, and return the members who did not join. Blocks. Raises CannotStart."""
    with ingot_answers(organization.server):
        server, absent = organization.server, set[str]()
        there = server.all(f"{organization.path}/teams")
        [owners] = [one for one in there if one["name"].lower() == OWNERS]
        for team in manifest["teams"]:
            here = owners
            if team["name"].lower() != OWNERS:
                here = server.get("POST", f"{organization.path}/teams", _fields(team, TEAM))
            for login in [one["login"] for one in team.get("members", [])]:
                if not (map_logins and _is_here(server, login)):
                    absent.add(login)
                    continue
                server.get("PUT", f"teams/{here['id']}/members/{segment(login)}")
            for name in team.get("repositories", []):
                path = f"teams/{here['id']}/repos/{segment(organization.name)}/{segment(name)}"
                server.get("PUT", path)
    return absent


def _is_here(server: RemoteServer, login: str) -> bool:
    """Return whether an account has this login. Blocks. Raises CannotStart."""
    try:
        server.get("GET", f"users/{segment(login)}")
    except Refused as error:
        if error.status == 404:
            return False
        raise
    return True
