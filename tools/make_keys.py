"""Make the keys and passwords of a new installation: one file of variables for each place that needs some.

Usage: python tools/make_keys.py FOLDER

| file              | for                                                                                    |
|-------------------|----------------------------------------------------------------------------------------|
| <service>.env     | that service alone: its private key, the key that seals secrets in its database         |
| shared.env        | all services: the public keys, and where NATS and Redis are in Compose and overlays/dev |
| <service>-db.env  | the account of its database                                                            |
| postgresql.env    | the server that makes these accounts                                                    |

A folder that is there already is left alone: the keys of a running installation cannot be made again.
"""

import argparse
import importlib
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from cryptography.fernet import Fernet

from ingot_chassis.security.keys import SigningKey
from ingot_contracts.topology import SERVICES

WITHOUT_DATABASE = ("web", "gateway")


def environments() -> dict[str, dict[str, str]]:
    """Name of the file -> its variables."""
    environments: dict[str, dict[str, str]] = {}
    keys = {service: SigningKey.generate() for service in SERVICES}
    passwords = {s: secrets.token_hex(20) for s in SERVICES if s not in WITHOUT_DATABASE}
    for service, key in keys.items():
        prefix = f"INGOT_{service.upper()}"
        settings = importlib.import_module(f"ingot_{service}.settings").Settings
        environments[service] = {f"{prefix}_PRIVATE_KEY": key.text()}
        if "sealing_key" in settings.__struct_fields__:
            environments[service][f"{prefix}_SEALING_KEY"] = Fernet.generate_key().decode()
        if "admin_password" in settings.__struct_fields__:
            environments[service][f"{prefix}_ADMIN_PASSWORD"] = secrets.token_urlsafe(15)
    environments["shared"] = {
        "INGOT_PUBLIC_KEYS": ",".join(f"{service}={key.x}" for service, key in keys.items()),
        "INGOT_NATS_URL": "nats://nats:4222",
        "INGOT_STORE_URL": "redis://redis:6379/0",
    }
    for service, password in passwords.items():
        url = f"postgresql+asyncpg://{service}:{password}@{service}-db-rw:5432/{service}"
        environments[f"{service}-db"] = {
            "username": service,
            "password": password,
            f"INGOT_{service.upper()}_DATABASE_URL": url,
        }
    environments["postgresql"] = {"POSTGRES_PASSWORD": secrets.token_hex(20)}
    environments["postgresql"] |= {
        f"{service.upper()}_PASSWORD": password for service, password in passwords.items()
    }
    return environments


def write(folder: Path, environments: Mapping[str, Mapping[str, str]]) -> None:
    """Only their owner can read them."""
    folder.mkdir(mode=0o700, parents=True)
    for name, variables in environments.items():
        file = os.open(folder / f"{name}.env", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w") as opened:
            opened.writelines(f"{variable}={value}\n" for variable, value in variables.items())


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description="Make the keys and passwords of a new installation.")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args(arguments).folder
    if folder.exists():
        print(f"{folder} is there already; its keys stay", file=sys.stderr)
        return 1
    write(folder, environments())
    print(f"wrote {folder}; the administrator's password is in {folder}/identity.env")
    return 0


if __name__ == "__main__":
    sys.exit(main())
