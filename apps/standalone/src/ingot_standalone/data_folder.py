"""The data folder: its lock, the paths of its files, and the secrets that are generated on first use."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from cryptography.fernet import Fernet

from ingot_chassis.errors import CannotStart
from ingot_chassis.security.keys import KeyUnreadable, SigningKey
from ingot_contracts.topology import SERVICES

SEALING = ("identity", "repos", "hooks", "mail")
"""Services that encrypt secrets in their database."""
ADDED_LATER = frozenset({"mail"})
"""Services that the first release did not have. A data folder or backup of it has no database of them."""


class Secrets(msgspec.Struct, kw_only=True):
    """``secrets.json``: Ed25519 keys of all services, and Fernet keys for encrypted secrets."""

    service_keys: dict[str, str] = {}
    sealing_keys: dict[str, str] = {}

    def public_keys(self) -> dict[str, str]:
        """Return the public key of each service, for its peers to verify its calls. Raises KeyUnreadable."""
        return {name: SigningKey.read(key).x for name, key in self.service_keys.items()}


class DataFolder:
    """Paths below the folder, and its secrets."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nats = path / "nats"
        self.repositories = path / "repositories"
        self.files = path / "files"
        self.lock = path / "lock"
        self._secrets = path / "secrets.json"
        self._public_url = path / "public-url"

    def database_file(self, service: str) -> Path:
        return self.path / f"{service}.db"

    def database_url(self, service: str) -> str:
        from sqlalchemy import URL

        return URL.create("sqlite+aiosqlite", database=str(self.database_file(service))).render_as_string()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Create the folder if it is missing, and lock it for the block. Raises CannotStart."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = self.lock.open("ab")
        except OSError as error:
            raise CannotStart(f"cannot use {self.path} as data folder: {error.strerror}") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise CannotStart(f"{self.path} is in use by another `ingot up`") from None
            yield

    def secrets(self) -> Secrets:
        """Return the secrets. Missing ones are generated and written. Raises CannotStart."""
        if not self._secrets.exists():
            self._refuse_to_replace_lost_secrets()
            current = Secrets()
        else:
            current = self._read_secrets()
        complete = Secrets(
            service_keys={s: current.service_keys.get(s) or SigningKey.generate().text() for s in SERVICES},
            sealing_keys={s: current.sealing_keys.get(s) or Fernet.generate_key().decode() for s in SEALING},
        )
        if complete != current:
            self._write(self._secrets, msgspec.json.format(msgspec.json.encode(complete)))
        return complete

    def existing_database_url(self, service: str) -> str:
        """Return the URL of an existing database. Raises CannotStart."""
        if not self.database_file(service).exists():
            raise CannotStart(f"{self.path} has no data yet; start with: ingot up --data {self.path}")
        return self.database_url(service)

    def is_older_than(self, service: str) -> bool:
        """True if the folder has data of a release that did not have this service."""
        return (
            service in ADDED_LATER
            and not self.database_file(service).exists()
            and self.database_file("identity").exists()
        )

    def remember_public_url(self, url: str) -> None:
        """Write the root URL for commands that run in parallel to the server."""
        self._write(self._public_url, url.encode())

    def public_url(self) -> str:
        """Return the root URL at the last start of the server, or ""."""
        return self._public_url.read_text() if self._public_url.exists() else ""

    def _read_secrets(self) -> Secrets:
        try:
            secrets = msgspec.json.decode(self._secrets.read_bytes(), type=Secrets)
            secrets.public_keys()
        except (OSError, msgspec.DecodeError, KeyUnreadable) as error:
            raise CannotStart(f"cannot read {self._secrets}: {error}") from error
        return secrets

    def _refuse_to_replace_lost_secrets(self) -> None:
        """Raise CannotStart if databases exist: new secrets could not decrypt their contents."""
        if any(self.database_file(service).exists() for service in SERVICES):
            raise CannotStart(
                f"{self._secrets} is missing, but its databases exist; restore it from a backup"
            )

    def _write(self, file: Path, content: bytes) -> None:
        """Replace a file atomically; only its owner may read it. Raises CannotStart."""
        new = file.with_name(f".{file.name}.new")
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
            new.replace(file)
        except OSError as error:
            raise CannotStart(f"cannot write {file}: {error.strerror}") from error
