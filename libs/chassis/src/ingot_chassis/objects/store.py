"""Objects: bytes under a key, in a local folder or in S3-compatible storage, written and read as streams.

A reader never sees an incomplete object: the key exists only after all bytes are on disk. Services build keys
from their own ids, never from user input. The use of memory does not depend on the size of an object.
"""

import asyncio
import hashlib
import os
import re
import time
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import obstore
import structlog
from obstore.exceptions import BaseError

from ingot_chassis.errors import ApiError, BadRequest, InsufficientStorage, Invalid, TooLarge, Unavailable
from ingot_chassis.objects.backends import Backend, sync_to_disk
from ingot_chassis.objects.transfers import Transfer

log = structlog.get_logger()

READ_BYTES = 1024 * 1024
LISTED = 1000
EXIT_SECONDS = 0.05
_KEY = re.compile(r"[a-z0-9_-]+(/[a-z0-9_-]+)*")
_UNFINISHED = re.compile(r".+#\d+")


class StoredObject(NamedTuple):
    """A stored object. ``sha256`` is in hexadecimal digits."""

    size: int
    sha256: str


class ListedObject(NamedTuple):
    key: str
    size: int
    modified_at: datetime


class ObjectLost(ApiError):
    """The file is not where it was stored; an administrator has to look after it."""


class ObjectStore:
    """The objects of one service. Its keys are below ``prefix``, which no other service uses.

    Methods raise ``Unavailable`` if the storage fails, and ``InsufficientStorage`` if it is full.
    """

    def __init__(self, url: str, *, prefix: str, key_id: str = "", secret: str = "") -> None:
        """Open the storage at ``url``: file:///folder or s3://bucket/path?endpoint=…&region=….

        Raises SettingsError.
        """
        self._backend = Backend.at(url, prefix=prefix, key_id=key_id, secret=secret)

    async def put(
        self,
        key: str,
        chunks: AsyncIterable[bytes],
        *,
        max_bytes: int,
        length: int | None = None,
        sha256: str | None = None,
    ) -> StoredObject:
        """Store the bytes of ``chunks``. If ``chunks`` raises or the call is cancelled, nothing is stored.

        Raises TooLarge above ``max_bytes``, BadRequest if there are not ``length`` bytes, Invalid if the
        SHA-256 is not ``sha256``.
        """
        if length is not None and length > max_bytes:
            raise _too_large(max_bytes)
        digest, size = hashlib.sha256(), 0
        transfer = Transfer(self._backend, _valid(key), max_bytes if length is None else length)
        try:
            async for chunk in _at_most(max_bytes, chunks):
                size += len(chunk)
                digest.update(chunk)
                with _failures(key):
                    await transfer.write(chunk)
            _require(size, length, digest.hexdigest(), sha256)
            with _failures(key):
                await transfer.finish()
        except BaseException:
            await transfer.abandon()
            raise
        if self._backend.folder is not None:
            with _failures(key):
                await asyncio.to_thread(sync_to_disk, self._backend.folder, key)
        return StoredObject(size, digest.hexdigest())

    async def read(self, key: str, byte_range: range) -> AsyncGenerator[bytes, None]:
        """Yield these bytes of an object in parts. Raises ObjectLost if the object does not exist."""
        for start in range(byte_range.start, byte_range.stop, READ_BYTES):
            end = min(start + READ_BYTES, byte_range.stop)
            with _failures(key):
                part = await obstore.get_range_async(self._backend.store, _valid(key), start=start, end=end)
            yield bytes(part)

    async def size(self, key: str) -> int | None:
        """Return the size of an object in bytes, or None if it does not exist."""
        with _failures(key):
            try:
                return (await obstore.head_async(self._backend.store, _valid(key)))["size"]
            except FileNotFoundError:
                return None

    async def delete(self, keys: Iterable[str]) -> None:
        """Delete objects. Missing objects are ignored."""
        for key in keys:
            with _failures(key):
                try:
                    await obstore.delete_async(self._backend.store, _valid(key))
                except FileNotFoundError:
                    continue

    async def list(self, prefix: str) -> AsyncGenerator[list[ListedObject], None]:
        """Yield all objects whose key begins with ``prefix`` and a slash, page by page."""
        with _failures(prefix):
            async for page in obstore.list(self._backend.store, _valid(prefix), chunk_size=LISTED):
                yield [ListedObject(one["path"], one["size"], one["last_modified"]) for one in page]

    async def delete_below(self, prefix: str) -> None:
        """Delete all objects whose key begins with ``prefix`` and a slash."""
        async for page in self.list(prefix):
            await self.delete([listed.key for listed in page])

    async def remove_unfinished(self, older_than_seconds: float) -> None:
        """Delete unfinished files of killed processes from the folder.

        S3 storages have a lifecycle rule for that.
        """
        if self._backend.folder is not None:
            await asyncio.to_thread(
                _remove_unfinished, self._backend.folder, time.time() - older_than_seconds
            )

    async def close(self) -> None:
        """Wait until the library's threads have finished their work.

        A thread that returns a result during the interpreter's exit would abort the process
        (PyO3/pyo3-async-runtimes#90).
        """
        await asyncio.sleep(EXIT_SECONDS)


def _valid(key: str) -> str:
    """Return the key. Raises ValueError for a key that does not match ``_KEY``.

    A key with other characters could escape from the folder.
    """
    if not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} cannot be the key of an object")
    return key


def _too_large(max_bytes: int) -> TooLarge:
    return TooLarge(f"a file may have at most {max_bytes} bytes")


async def _at_most(max_bytes: int, chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > max_bytes:
            raise _too_large(max_bytes)
        yield chunk


def _require(size: int, length: int | None, checksum: str, sha256: str | None) -> None:
    """Raise BadRequest or Invalid if the bytes differ from the announced size or hash. None is ignored."""
    if length is not None and size != length:
        raise BadRequest(f"{length} bytes were announced and {size} came")
    if sha256 is not None and checksum != sha256:
        raise Invalid.field("sha256", "checksum", "is not the checksum of what came")


@contextmanager
def _failures(key: str) -> Iterator[None]:
    """Convert failures of the library to error responses. The cause is logged."""
    try:
        yield
    except FileNotFoundError as error:
        log.exception("an object is lost", key=key)
        raise ObjectLost from error
    except (BaseError, OSError) as error:
        log.exception("the object store failed", key=key)
        if "(os error 28)" in str(error):
            raise InsufficientStorage from error
        raise Unavailable("the storage of files does not answer") from error


def _remove_unfinished(folder: Path, before: float) -> None:
    """Delete temporary files of the library, which are missing from its own list."""
    for place, _, names in os.walk(folder):
        for file in (Path(place, name) for name in names if _UNFINISHED.fullmatch(name)):
            with suppress(FileNotFoundError):  # another process removes it at the same time
                if file.stat().st_mtime < before:
                    file.unlink()
