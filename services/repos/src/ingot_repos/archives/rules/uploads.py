"""Uploaded archives: stored in a file of the shard, and verified as a whole before anything is created."""

import asyncio
import uuid
from collections.abc import AsyncIterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import IO

from ingot_chassis.errors import Invalid, TooLarge
from ingot_chassis.security import ssh_keys
from ingot_git.process.disk import disk_errors
from ingot_git.refs.refs import is_valid_ref_name
from ingot_git.storage.storage import Storage
from ingot_remotes.archives.layout import ARCHIVED_KINDS, WIKI_BUNDLE, Manifest
from ingot_remotes.interface.source import SourceFailed
from ingot_repos.imports.rules.lifecycle import NewImport, NewSource
from ingot_repos.imports.rules.openings import ARCHIVE
from ingot_repos.imports.store import OfferedKey
from ingot_repos.remotes.rules.urls import RemoteUrl, parse_remote_url

FIELD = "attachment"
"""The field of the form with the archive."""
BLOCK = 1024 * 1024
_VERIFICATIONS = ThreadPoolExecutor(2, thread_name_prefix="verify-archive")
"""Threads of their own: a large archive takes a minute, and other work uses the usual threads."""


async def receive(storage: Storage, chunks: AsyncIterable[bytes], *, max_bytes: int) -> str:
    """Store an archive, and return its name. Raises TooLarge, StorageFull.

    If it fails or is cancelled, the folder of the archive is deleted.
    """
    name = str(uuid.uuid4())
    path = storage.archive_folder(name) / ARCHIVE
    try:
        with disk_errors():
            await _write(path, chunks, max_bytes)
    except BaseException:
        storage.discard_archive(name)
        raise
    return name


async def _write(path: Path, chunks: AsyncIterable[bytes], max_bytes: int) -> None:
    size, block = 0, bytearray()
    with path.open("wb") as file:
        async for chunk in chunks:
            size += len(chunk)
            if size > max_bytes:
                raise TooLarge(f"an archive may have at most {max_bytes} bytes")
            block += chunk
            if len(block) >= BLOCK:
                await asyncio.to_thread(_append, file, block)
        await asyncio.to_thread(_append, file, block)


def _append(file: IO[bytes], block: bytearray) -> None:
    file.write(block)
    block.clear()


async def read_manifest(storage: Storage, name: str, *, max_bytes: int) -> Manifest:
    """Verify the whole archive, and return its manifest. Raises Invalid."""
    from ingot_remotes.archives.archive import verify
    from ingot_remotes.archives.layout import ArchiveInvalid

    path = storage.archive_folder(name) / ARCHIVE
    try:
        work = partial(verify, path, max_bytes=max_bytes)
        manifest = await asyncio.get_running_loop().run_in_executor(_VERIFICATIONS, work)
    except ArchiveInvalid as error:
        raise Invalid.field(FIELD, "archive", str(error)) from None
    if not is_valid_ref_name(manifest.default_branch):
        raise Invalid.field(FIELD, "archive", "manifest.json: default_branch is not the name of a branch")
    return manifest


def new_import(
    manifest: Manifest, archive: str, *, name: str, private: bool, maps_people: bool, map_logins: bool
) -> NewImport:
    """Return a request to import a verified archive. Raises Invalid if its source address is invalid."""
    paths = {file.path.partition("/")[0] for file in manifest.files}
    kinds = [kind for kind in ARCHIVED_KINDS if kind in paths]
    wiki = ["wiki"] if any(file.path == WIKI_BUNDLE for file in manifest.files) else []
    return NewImport(
        name=name,
        description=manifest.description.replace("\0", ""),
        private=private,
        default_branch=manifest.default_branch,
        remote=_origin(manifest),
        source=NewSource(
            service=manifest.service,
            kinds=[*kinds, *wiki],
            maps_people=maps_people,
            map_logins=map_logins,
            archive=archive,
            deploy_keys=_offered_keys(manifest),
        ),
    )


def _offered_keys(manifest: Manifest) -> list[OfferedKey]:
    """Return the deploy keys of an archive that are valid here and have a title.

    They give no access until an administrator of the new repository adds them.
    """
    keys = list[OfferedKey]()
    for one in manifest.deploy_keys:
        title = " ".join(one.title.replace("\0", "").split())
        try:
            public = ssh_keys.read(one.key)
        except Invalid:
            continue
        if title:
            keys.append(
                OfferedKey(
                    title=title,
                    key=public.content,
                    fingerprint=public.fingerprint,
                    read_only=one.read_only,
                )
            )
    return keys


def _origin(manifest: Manifest) -> RemoteUrl:
    """Return the address of the repository at its source, which is shown and never called. Raises Invalid."""
    from ingot_remotes.forges.families import FAMILIES

    try:
        origin = parse_remote_url(manifest.url)
        FAMILIES[manifest.service].address_of(origin.url)
    except Invalid as error:
        raise Invalid.field(FIELD, "archive", f"manifest.json: url {error.errors[0].message}") from None
    except SourceFailed:
        raise Invalid.field(FIELD, "archive", "manifest.json: url is not the page of a repository") from None
    if origin.scheme not in ("http", "https") or origin.username or origin.password:
        raise Invalid.field(FIELD, "archive", "manifest.json: url is not the page of a repository")
    return origin
