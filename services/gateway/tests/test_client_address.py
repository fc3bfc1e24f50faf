"""The address of the client, behind proxies that are trusted and proxies that are not."""

import re
from pathlib import Path

import aiohttp
import pytest
import structlog

from ingot_chassis.settings import SettingsError, load
from ingot_gateway.app import create_app
from ingot_gateway.client_address import TrustedProxies
from ingot_gateway.settings import Settings

from .world import gateway_settings, open_client, open_world

REPO = "/api/v1/repos/ann/x"
SUFFIXES = (".env", ".yaml", ".yml", ".md", ".json")
TRUSTED = ["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"]


@pytest.mark.parametrize(
    ("networks", "peer", "forwarded_for", "client"),
    [
        ([], "10.0.0.1", b"203.0.113.9", "10.0.0.1"),
        (TRUSTED, "198.51.100.1", b"203.0.113.9", "198.51.100.1"),
        (TRUSTED, "10.0.0.1", b"", "10.0.0.1"),
        (TRUSTED, "10.0.0.1", b"203.0.113.9", "203.0.113.9"),
        (TRUSTED, "192.0.2.7", b"203.0.113.9", "203.0.113.9"),
        (TRUSTED, "192.0.2.8", b"203.0.113.9", "192.0.2.8"),
        (TRUSTED, "10.0.0.1", b"6.6.6.6, 203.0.113.9", "203.0.113.9"),
        (TRUSTED, "10.0.0.1", b"6.6.6.6, 203.0.113.9,10.2.3.4 ,\t10.0.0.2", "203.0.113.9"),
        (TRUSTED, "10.0.0.1", b"10.0.0.3, 10.0.0.2", "10.0.0.3"),
        (TRUSTED, "10.0.0.1", b"6.6.6.6, unknown", "10.0.0.1"),
        (TRUSTED, "10.0.0.1", b"6.6.6.6, unknown, 10.0.0.2", "10.0.0.2"),
        (TRUSTED, "10.0.0.1", b"6.6.6.6,", "10.0.0.1"),
        (TRUSTED, "10.0.0.1", b"\xff\x00\r\n", "10.0.0.1"),
        (TRUSTED, "10.0.0.1", b"203.0.113.9/32", "10.0.0.1"),
        (TRUSTED, "2001:db8::1", b"2001:DB9:0::5", "2001:db9::5"),
        (TRUSTED, "::ffff:10.0.0.1", b"::ffff:203.0.113.9", "203.0.113.9"),
        (TRUSTED, "", b"203.0.113.9", ""),
        (["0.0.0.0/0"], "10.0.0.1", b"6.6.6.6, 203.0.113.9", "6.6.6.6"),
    ],
)
def test_the_client_is_the_nearest_that_is_no_trusted_proxy(networks, peer, forwarded_for, client):
    assert TrustedProxies(networks).client(peer, forwarded_for) == client


@pytest.mark.parametrize(
    "network", ["everybody", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/8/8", "::1/129", "a/b"]
)
def test_an_invalid_network_keeps_the_gateway_from_starting(network):
    loaded = load(Settings, "gateway", {"INGOT_GATEWAY_TRUSTED_PROXIES": f"127.0.0.1, {network}"})

    with pytest.raises(SettingsError, match="INGOT_GATEWAY_TRUSTED_PROXIES"):
        create_app(gateway_settings(trusted_proxies=loaded.trusted_proxies))


async def test_only_the_address_from_a_trusted_proxy_is_passed_on(transport):
    async with open_client(transport, trusted_proxies=["127.0.0.0/8"]) as client:
        headers = [("X-Forwarded-For", "6.6.6.6"), ("X-Forwarded-For", "203.0.113.9, 127.0.0.2")]
        async with client.get(REPO, headers=headers) as answer:
            echo = await answer.json()

    assert [value for name, value in echo["headers"] if name == "x-forwarded-for"] == ["203.0.113.9"]


@pytest.mark.parametrize(
    ("trusted", "address"), [(["127.0.0.1"], "203.0.113.9"), (["10.0.0.0/8"], "127.0.0.1")]
)
async def test_identity_gets_the_address_of_the_client(trusted, address):
    async with (
        open_world("asgi", trusted_proxies=trusted) as world,
        aiohttp.ClientSession(world.url) as client,
    ):
        world.identity.add_credential(9, address=address, token="only from there")
        headers = {"X-Forwarded-For": "203.0.113.9", "Authorization": "token only from there"}
        async with client.get(REPO, headers=headers) as answer:
            echo = await answer.json()

    assert dict(echo["headers"])["ingot-principal"] == "principal of 9"


@pytest.mark.parametrize(
    ("network", "is_wide"),
    [
        ("10.0.0.0/8", True),
        ("10.244.0.0/16", True),
        ("0.0.0.0/0", True),
        ("2001:db8::/32", True),
        ("192.0.2.0/24", False),
        ("192.0.2.7", False),
        ("2001:db8::/64", False),
        ("127.0.0.0/8", False),
    ],
)
def test_a_wide_network_of_proxies_is_warned_of(network, is_wide):
    with structlog.testing.capture_logs() as logs:
        TrustedProxies([network])
    assert [entry["network"] for entry in logs if entry["log_level"] == "warning"] == [network] * is_wide


def test_no_example_trusts_a_wide_network():
    """Everything in the deployments and pages of this repository that sets the networks."""
    top = Path(__file__).parents[3]
    texts = [
        file.read_text()
        for folder in ("deploy", "docs")
        for file in (top / folder).rglob("*")
        if file.suffix in SUFFIXES
    ]
    values = [
        value
        for text in texts
        for value in re.findall(r"TRUSTED_PROXIES[\"']?[=:] *[\"']?([0-9a-f.:/,]+)", text)
    ]
    assert values
    with structlog.testing.capture_logs() as logs:
        TrustedProxies([network for value in values for network in value.split(",")])
    assert logs == []
