"""The data folder: who may use it, what lies where in it, and the secrets that are made on first use."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from cryptography.fernet import Fernet
from sqlalchemy import URL

from ingot_chassis.keys import KeyUnreadable, SigningKey
from ingot_chassis.server import CannotStart
from ingot_contracts.topology import SERVICES

SEALING = ("identity", "repos", "hooks")
"""Services that seal something in their database."""


class Secrets(msgspec.Struct, kw_only=True):
    """``secrets.json``: Ed25519 keys of the services, and Fernet keys of those that seal secrets at rest."""

    service_keys: dict[str, str] = {}
    sealing_keys: dict[str, str] = {}

    def public_keys(self) -> dict[str, str]:
        """What each service needs to recognise the others. Raises KeyUnreadable."""
        return {name: SigningKey.read(key).x for name, key in self.service_keys.items()}


class DataFolder:
    """Paths below the folder, and its secrets."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nats = path / "nats"
        self.repositories = path / "repositories"
        self._secrets = path / "secrets.json"
        self._public_url = path / "public-url"

    def database_file(self, service: str) -> Path:
        return self.path / f"{service}.db"

    def database_url(self, service: str) -> str:
        return URL.create("sqlite+aiosqlite", database=str(self.database_file(service))).render_as_string()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Make the folder if need be and be its only user for the time of the block. Raises CannotStart."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = (self.path / "lock").open("ab")
        except OSError as error:
            raise CannotStart(f"cannot use {self.path} as data folder: {error.strerror}") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise CannotStart(f"{self.path} is in use by another `ingot up`") from None
            yield

    def secrets(self) -> Secrets:
        """The secrets; those that are missing are made and kept. Raises CannotStart."""
        if not self._secrets.exists():
            self._refuse_to_replace_lost_secrets()
            known = Secrets()
        else:
            known = self._read_secrets()
        complete = Secrets(
            service_keys={s: known.service_keys.get(s) or SigningKey.generate().text() for s in SERVICES},
            sealing_keys={s: known.sealing_keys.get(s) or Fernet.generate_key().decode() for s in SEALING},
        )
        if complete != known:
            self._write(self._secrets, msgspec.json.format(msgspec.json.encode(complete)))
        return complete

    def existing_database_url(self, service: str) -> str:
        """The URL of a database that is there already. Raises CannotStart."""
        if not self.database_file(service).exists():
            raise CannotStart(f"{self.path} has no data yet; start with: ingot up --data {self.path}")
        return self.database_url(service)

    def remember_public_url(self, url: str) -> None:
        """For commands that run beside the server."""
        self._write(self._public_url, url.encode())

    def public_url(self) -> str:
        """The root URL that the server had last, or empty."""
        return self._public_url.read_text() if self._public_url.exists() else ""

    def _read_secrets(self) -> Secrets:
        try:
            secrets = msgspec.json.decode(self._secrets.read_bytes(), type=Secrets)
            secrets.public_keys()
        except (OSError, msgspec.DecodeError, KeyUnreadable) as error:
            raise CannotStart(f"cannot read {self._secrets}: {error}") from error
        return secrets

    def _refuse_to_replace_lost_secrets(self) -> None:
        """New ones would not open what is sealed in the databases."""
        if any(self.database_file(service).exists() for service in SERVICES):
            raise CannotStart(
                f"{self._secrets} is missing, but its databases are there; restore it from a backup"
            )

    def _write(self, file: Path, content: bytes) -> None:
        """All or nothing, for the eyes of the owner only. Raises CannotStart."""
        new = file.with_name(f".{file.name}.new")
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
            new.replace(file)
        except OSError as error:
            raise CannotStart(f"cannot write {file}: {error.strerror}") from error
