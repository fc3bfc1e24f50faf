"""Storage of objects by URL: a local folder, or a bucket of S3-compatible storage."""

import os
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, S3Store

from ingot_chassis.settings import SettingsError

FOLDER_CHUNK = 1024 * 1024
BUCKET_CHUNK = 5 * 1024 * 1024
"""Bytes of a part. S3 accepts no smaller part, and at most 10,000 parts."""
MOST_PARTS = 9_000
REQUEST_TIMEOUT = timedelta(seconds=60)
"""The time limit of one request, which carries one part."""


class Backend(NamedTuple):
    """A storage of the library obstore. ``folder`` is None for a bucket."""

    store: ObjectStore
    folder: Path | None

    @classmethod
    def at(cls, url: str, *, prefix: str, key_id: str, secret: str) -> "Backend":
        """Return the storage at ``url``, below ``prefix``. Raises SettingsError."""
        try:
            parts = urlsplit(url)
            if parts.scheme == "file" and parts.netloc == "" and parts.path.startswith("/"):
                return _folder(Path(unquote(parts.path)) / prefix)
            if parts.scheme == "s3" and parts.netloc:
                path = "/".join(part for part in (parts.path.strip("/"), prefix) if part)
                return _bucket(parts.netloc, path, parse_qs(parts.query), key_id, secret)
        except (BaseError, OSError, ValueError) as error:
            raise SettingsError([f"INGOT_OBJECTS_URL cannot be used: {error}"]) from error
        raise SettingsError(
            ["INGOT_OBJECTS_URL is neither file:///… nor s3://bucket/…; see docs/reference/settings.md"]
        )

    def chunk_bytes(self, length: int) -> int:
        """Return the size of the parts in which an object of at most ``length`` bytes is written."""
        return FOLDER_CHUNK if self.folder is not None else max(BUCKET_CHUNK, length // MOST_PARTS)


def _folder(path: Path) -> Backend:
    store = LocalStore(path, automatic_cleanup=True, mkdir=True)
    return Backend(store, path)


def _bucket(bucket: str, path: str, query: dict[str, list[str]], key_id: str, secret: str) -> Backend:
    """Return a bucket.

    Without a key the library uses the machine's credentials: AWS_… variables, or the role of the pod.
    """
    options = {"endpoint", "region"}
    if set(query) - options:
        raise ValueError(f"only {' and '.join(sorted(options))} are allowed")
    endpoint, region = query.get("endpoint", [""])[0], query.get("region", ["us-east-1"])[0]
    config: dict[str, str] = {"region": region}
    if endpoint:
        config["endpoint"] = endpoint
    if key_id:
        config |= {"access_key_id": key_id, "secret_access_key": secret}
    store = S3Store(
        bucket,
        prefix=path,
        config=config,  # type: ignore[arg-type]
        virtual_hosted_style_request=not endpoint,
        client_options={"allow_http": endpoint.startswith("http://"), "timeout": REQUEST_TIMEOUT},
    )
    return Backend(store, None)


def sync_to_disk(folder: Path, key: str) -> None:
    """Flush a file and its folders to the disk, to survive a power failure. Blocks."""
    path = folder / key
    while True:
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
        if path == folder:
            return
        path = path.parent
