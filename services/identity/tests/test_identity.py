"""The command `ingot-identity`, as an operator starts it."""

import asyncio
import json
import os
import signal
import subprocess
import sys

import httpx
import pytest
from cryptography.fernet import Fernet

from ingot_chassis.db.migrations import upgrade
from ingot_chassis.security.keys import SigningKey
from ingot_identity.migrations import SCRIPTS

COMMAND = [sys.executable, "-m", "ingot_identity"]


def environment(**more: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("INGOT_")}
    return inherited | {
        "INGOT_IDENTITY_PRIVATE_KEY": SigningKey.generate().text(),
        "INGOT_IDENTITY_SEALING_KEY": Fernet.generate_key().decode(),
        "INGOT_IDENTITY_PORT": "0",
        "INGOT_NATS_URL": "nats://127.0.0.1:1",
        **{f"INGOT_IDENTITY_{name}": value for name, value in more.items()},
    }


@pytest.mark.parametrize(
    ("command", "wrong", "message"),
    [
        ("serve", {}, "INGOT_IDENTITY_DATABASE_URL is not set"),
        ("work", {}, "INGOT_IDENTITY_DATABASE_URL is not set"),
        ("serve", {"DATABASE_URL": "nonsense"}, "INGOT_IDENTITY_DATABASE_URL"),
        ("serve", {"DATABASE_URL": "sqlite+aiosqlite://", "PORT": "many"}, "INGOT_IDENTITY_PORT"),
        ("serve", {"DATABASE_URL": "sqlite+aiosqlite://", "PRIVATE_KEY": "x"}, "private key"),
        (
            "work",
            {"DATABASE_URL": "sqlite+aiosqlite:////nowhere/x.db", "SEALING_KEY": "x"},
            "INGOT_IDENTITY_SEALING_KEY",
        ),
    ],
)
def test_a_setting_that_is_wrong_is_one_line_and_code_2(command, wrong, message):
    ended = subprocess.run(
        [*COMMAND, command],
        env=environment(**wrong),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


async def listening(process: asyncio.subprocess.Process) -> str:
    """The address it says it listens at."""
    while line := (await process.stderr.readline()).decode():
        if '"listening"' in line:
            _, port = json.loads(line)["address"]
            return f"http://127.0.0.1:{port}"
    raise AssertionError("it ended")


@pytest.mark.parametrize(("command", "status"), [("serve", 401), ("work", 404)])
async def test_a_process_serves_until_it_gets_sigterm_and_ends_with_code_0(tmp_path, command, status):
    url = f"sqlite+aiosqlite:///{tmp_path}/x.db"
    await asyncio.to_thread(lambda: asyncio.run(upgrade(url, SCRIPTS)))
    process = await asyncio.create_subprocess_exec(
        *COMMAND, command, env=environment(DATABASE_URL=url), stderr=subprocess.PIPE
    )
    address = await asyncio.wait_for(listening(process), 60)
    async with httpx.AsyncClient() as http:
        assert (await http.get(f"{address}/readyz")).text == "ready"
        assert (await http.get(f"{address}/api/v1/user")).status_code == status
    process.send_signal(signal.SIGTERM)
    await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0


async def test_a_process_that_waits_for_its_database_can_be_stopped(tmp_path):
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        "serve",
        env=environment(DATABASE_URL=f"sqlite+aiosqlite:///{tmp_path}/x.db"),
        stderr=subprocess.PIPE,
    )
    while b"older than this release" not in (line := await asyncio.wait_for(process.stderr.readline(), 60)):
        assert line
    process.send_signal(signal.SIGTERM)
    await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0
