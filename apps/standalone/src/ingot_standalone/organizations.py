"""``ingot export --organization`` and ``ingot import --organization``: a whole organization in one file.

The file is a ZIP with the archive of each repository, stored as it is (docs/reference/archives.md). One
repository is exported or imported at a time, so the disk needs room for the file and one archive.
"""

import asyncio
import hashlib
import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ingot_chassis.clock import now
from ingot_chassis.errors import CannotStart
from ingot_standalone.archives import (
    BLOCK,
    UNFINISHED,
    Refused,
    RemoteRepository,
    RemoteServer,
    open_private,
    read_archive,
    repository_at,
    segment,
    write_archive,
)
from ingot_standalone.console import say

FORMAT, VERSION = "ingot-organization", 1
MANIFEST = "organization.json"
MOST_MANIFEST_BYTES = 64 * 1024 * 1024
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
HIDDEN = "@noreply."
"""Part of an address that stands for a hidden one. It says nothing about a person."""
Object = dict[str, Any]


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
    """Export an organization into a new file. The archives at the server are deleted again.

    Raises CannotStart. Then no file stays.
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
            manifest = await asyncio.to_thread(_read_organization, organization)
            for number, one in enumerate(manifest["repositories"], 1):
                repository = RemoteRepository(organization.server, organization.name, one["name"])
                path = Path(scratch, "repository.zip")
                await write_archive(repository, path)
                await asyncio.to_thread(organization.server.get, "DELETE", f"{repository.path}/export")
                one["path"] = f"repositories/{number:05}.zip"
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
    teams = []
    for team in server.all(f"{path}/teams"):
        at = f"teams/{team['id']}"
        members = [
            {"login": one["login"], "email": one.get("email", "")} for one in server.all(f"{at}/members")
        ]
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


def _fields(answer: Mapping[str, Any], names: Sequence[str]) -> Object:
    return {name: answer[name] for name in names if name in answer}


def _add(archive: zipfile.ZipFile, name: str, path: Path) -> str:
    """Add a file, delete it, and return its hash. Blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as source, archive.open(name, "w", force_zip64=True) as target:
        while block := source.read(BLOCK):
            digest.update(block)
            target.write(block)
    path.unlink()
    return digest.hexdigest()


async def import_organization(source: Path, url: str, *, token: str, map_logins: bool) -> None:
    """Create an organization out of a file, with the caller as an owner. Raises CannotStart.

    A member joins if an account here has the same login and shows the same address. With ``map_logins`` the
    same login is enough, for members and for authors.
    """
    organization = organization_at(url, token)
    with _opened(source) as archive:
        manifest = await asyncio.to_thread(_manifest, archive)
        new = {**_fields(manifest, PROFILE), "username": organization.name}
        await asyncio.to_thread(organization.server.get, "POST", "orgs", new)
        labels = f"{organization.path}/labels"
        for label in manifest["labels"]:
            await asyncio.to_thread(organization.server.get, "POST", labels, _fields(label, LABEL))
        with tempfile.TemporaryDirectory() as scratch:
            for number, one in enumerate(manifest["repositories"], 1):
                path = Path(scratch, "repository.zip")
                await asyncio.to_thread(_extract, archive, one, path)
                repository = RemoteRepository(organization.server, organization.name, one["name"])
                await read_archive(repository, path, private=None, map_logins=map_logins)
                say(f"{number} of {len(manifest['repositories'])}: {repository.url}")
        absent = await asyncio.to_thread(_create_teams, organization, manifest, map_logins=map_logins)
    say(f"{url} is here: {len(manifest['repositories'])} repositories, {len(manifest['teams'])} teams")
    if absent:
        say(f"who did not join teams: {', '.join(sorted(absent))}")


@contextmanager
def _opened(source: Path) -> Iterator[zipfile.ZipFile]:
    """Open a file with an organization. Raises CannotStart, also for errors of its contents."""
    try:
        with zipfile.ZipFile(source) as archive:
            yield archive
    except FileNotFoundError:
        raise CannotStart(f"{source} does not exist") from None
    except (
        zipfile.BadZipFile,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        NotImplementedError,
    ) as error:
        raise CannotStart(f"{source} is not an archive of an organization: {error!r}") from None


def _manifest(archive: zipfile.ZipFile) -> Object:
    """Return the manifest, whose version is known. Blocks. Raises ValueError, KeyError."""
    if archive.getinfo(MANIFEST).file_size > MOST_MANIFEST_BYTES:
        raise ValueError(f"{MANIFEST} has more than {MOST_MANIFEST_BYTES:,} bytes")
    manifest: Object = json.loads(archive.read(MANIFEST))
    if manifest["format"] != FORMAT or manifest["version"] != VERSION:
        raise ValueError(f"{MANIFEST} has another version than {VERSION}")
    for one in manifest["repositories"]:
        archive.getinfo(one["path"])
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
    server, absent = organization.server, set[str]()
    [owners] = [one for one in server.all(f"{organization.path}/teams") if one["name"].lower() == OWNERS]
    for team in manifest["teams"]:
        is_owners = team["name"].lower() == OWNERS
        here = owners if is_owners else server.get("POST", f"{organization.path}/teams", _fields(team, TEAM))
        for member in team["members"]:
            if not _is_here(server, member, map_logins=map_logins):
                absent.add(member["login"])
                continue
            server.get("PUT", f"teams/{here['id']}/members/{segment(member['login'])}")
        for name in team["repositories"]:
            path = f"teams/{here['id']}/repos/{segment(organization.name)}/{segment(name)}"
            server.get("PUT", path)
    return absent


def _is_here(server: RemoteServer, member: Mapping[str, str], *, map_logins: bool) -> bool:
    """Return whether a member of the source has an account here. Blocks. Raises CannotStart."""
    try:
        account = server.get("GET", f"users/{segment(member['login'])}")
    except Refused as error:
        if error.status == 404:
            return False
        raise
    email = member["email"].lower()
    return map_logins or (bool(email) and HIDDEN not in email and account.get("email", "").lower() == email)
