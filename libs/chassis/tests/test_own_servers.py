"""Ingot's own servers: read from settings, and recognized by their addresses."""

import socket

import pytest

from ingot_chassis.http.server import METRICS_DISTANCE
from ingot_chassis.security.egress import ResolveResult
from ingot_chassis.security.own_servers import OwnServers, Server, own_servers, read_servers, server_of
from ingot_chassis.settings import ServiceSettings, SettingsError


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("postgresql+asyncpg://u:p@db.internal/ingot", Server("db.internal", 5432)),
        ("postgresql+asyncpg://u:p@[::1]:6543/ingot", Server("::1", 6543)),
        ("nats://token@127.0.0.1:4999", Server("127.0.0.1", 4999)),
        ("nats://nats", Server("nats", 4222)),
        ("rediss://:secret@redis/0", Server("redis", 6379)),
        ("https://identity", Server("identity", 443)),
        ("sqlite+aiosqlite:////srv/hooks.db", None),
        ("memory://", None),
        ("", None),
    ],
)
def test_the_server_of_a_url(url, server):
    assert server_of(url) == server


@pytest.mark.parametrize(
    "entry", ["gateway", "gateway:", ":80", "gateway:http", "gateway:0", "gateway:99999", ""]
)
def test_an_entry_without_host_and_port_stops_the_start(entry):
    with pytest.raises(SettingsError, match="REFUSED"):
        read_servers([entry], "REFUSED")


def test_entries_name_host_and_port():
    assert read_servers(["gateway:3000", " [::1]:80"], "REFUSED") == [
        Server("gateway", 3000),
        Server("::1", 80),
    ]


class Names:
    """A name server that knows one address, or does not answer."""

    def __init__(self, address: str) -> None:
        self.address = address

    async def __call__(self, host: str, port: int) -> list[ResolveResult]:
        if not self.address:
            raise OSError("no answer")
        return [
            ResolveResult(
                hostname=host, host=self.address, port=port, family=socket.AF_INET, proto=0, flags=0
            )
        ]


async def test_a_server_is_recognized_by_its_address_at_its_port():
    own = OwnServers([Server("nats.internal", 4222)], resolve=Names("10.1.2.3"))
    assert await own.refusal("10.1.2.3", 4222, ["10.1.2.3"])
    assert await own.refusal("evil.example.org", 4222, ["8.8.8.8", "::ffff:10.1.2.3"])
    assert not await own.refusal("10.1.2.3", 4223, ["10.1.2.3"])
    assert not await own.refusal("10.1.2.4", 4222, ["10.1.2.4"])


async def test_its_last_addresses_count_while_its_name_cannot_be_resolved():
    names, time = Names("10.1.2.3"), iter(range(0, 10_000, 1_000))
    own = OwnServers([Server("nats.internal", 4222)], resolve=names, clock=lambda: float(next(time)))
    assert await own.refusal("10.1.2.3", 4222, ["10.1.2.3"])
    names.address = ""
    assert await own.refusal("10.1.2.3", 4222, ["10.1.2.3"])
    names.address = "10.1.2.4"
    assert not await own.refusal("10.1.2.3", 4222, ["10.1.2.3"])


async def test_the_servers_of_the_settings_and_those_that_the_operator_adds_are_refused():
    settings = ServiceSettings(
        database_url="postgresql+asyncpg://ingot@127.0.0.1:6543/hooks",
        store_url="redis://127.0.0.1:6379",
        objects_url="s3://ingot/files?endpoint=http://127.0.0.1:9000&region=eu",
    )
    own = own_servers(settings, ["http://localhost:18082"], None, [Server("127.0.0.1", 3000)])
    for port in (3000, 4222, 6379, 6543, 9000, 18082, settings.port, settings.port + METRICS_DISTANCE):
        assert await own.refusal("127.0.0.1", port, ["127.0.0.1"]), port
    assert not await own.refusal("127.0.0.1", 8082, ["127.0.0.1"])


async def test_in_one_process_with_all_other_services_only_what_that_listens_on_is_refused():
    urls = ["nats://token@127.0.0.1:4999", "http://localhost:3000/"]
    own = own_servers(ServiceSettings(), ["http://localhost:8082"], urls, [])
    for port, is_refused in ((4999, True), (3000, True), (8082, False), (4222, False)):
        assert bool(await own.refusal("127.0.0.1", port, ["127.0.0.1"])) is is_refused, port


def test_a_port_that_leaves_none_for_metrics_is_no_reason_not_to_start():
    own_servers(ServiceSettings(port=65_000), [], None, [])
