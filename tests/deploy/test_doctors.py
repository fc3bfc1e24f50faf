"""The doctor of a service without a database, as operators run it: the readiness of its peers."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ingot_chassis.security.keys import SigningKey
from ingot_contracts.topology import CALLS
from ingot_testing.processes import free_port


@asynccontextmanager
async def answering(status: str) -> AsyncIterator[str]:
    """The URL of a server that answers everything so."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


async def doctor(service: str, **variables: str) -> tuple[int, list[str], str]:
    """The exit code, what was found, and the last line for the operator."""
    prefix = f"INGOT_{service.upper()}"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"ingot_{service}", "doctor"),
        env={
            f"{prefix}_PRIVATE_KEY": SigningKey.generate().text(),
            f"{prefix}_CONNECT_SECONDS": "0",
            "INGOT_NATS_URL": f"nats://127.0.0.1:{free_port()}",
            **variables,
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode().splitlines(), err.decode().splitlines()[-1:][0] if err else ""


def urls(service: str, url: str) -> dict[str, str]:
    return {f"INGOT_{service.upper()}_{called.upper()}_URL": url for called in CALLS[service]}


@pytest.mark.parametrize("service", ["gateway", "web"])
async def test_nothing_is_wrong_where_each_called_service_is_ready(service):
    async with answering("200 OK") as url:
        code, lines, _ = await doctor(service, **urls(service, url))
    assert (code, lines) == (0, [f"{service}: nothing is wrong"])


@pytest.mark.parametrize("service", ["gateway", "web"])
async def test_a_called_service_that_is_not_ready_or_not_there_is_named(service):
    async with answering("200 OK") as url, answering("503 Service Unavailable") as unready:
        variables = urls(service, url) | {
            f"INGOT_{service.upper()}_REPOS_URL": unready,
            f"INGOT_{service.upper()}_ISSUES_URL": f"http://127.0.0.1:{free_port()}/",
        }
        code, lines, last = await doctor(service, **variables)
    assert (code, len(lines)) == (2, 2)
    assert any(line.startswith(f"{service}: repos is not ready: repos cannot answer;") for line in lines)
    assert any(line.startswith(f"{service}: issues is not ready: issues does not answer;") for line in lines)
    assert last == f"ingot: {service} needs attention; docs/how-to/runbook.md says more"


@pytest.mark.parametrize("service", ["gateway", "web"])
async def test_a_store_that_does_not_answer_is_named(redis_url, service):
    async with answering("200 OK") as url:
        away = await doctor(
            service, INGOT_STORE_URL=f"redis://127.0.0.1:{free_port()}/0", **urls(service, url)
        )
        there = await doctor(service, INGOT_STORE_URL=redis_url, **urls(service, url))
    assert away[0] == 2
    assert away[1][0].startswith(f"{service}: INGOT_STORE_URL does not answer: ")
    assert there[:2] == (0, [f"{service}: nothing is wrong"])


async def test_a_setting_that_is_wrong_is_one_line():
    code, _, last = await doctor("gateway", INGOT_GATEWAY_PORT="many")
    assert code == 2
    assert "INGOT_GATEWAY_PORT" in last
