"""The address of the client, behind proxies that are trusted and proxies that are not."""

import aiohttp
import pytest

from ingot_chassis.settings import SettingsError, load
from ingot_gateway.app import create_app
from ingot_gateway.client_address import TrustedProxies
from ingot_gateway.settings import Settings

from .world import gateway_settings, open_client, open_world

REPO = "/api/v1/repos/ann/x"
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
