"""Sign-ins by headers of a reverse proxy, and attempts to send these headers oneself."""

from contextlib import asynccontextmanager

import aiohttp
import pytest

from ingot_chassis.settings import SettingsError
from ingot_contracts.identity.credentials import ProxySession, ProxySignIn
from ingot_gateway.app import create_app

from .test_proxy import REPO, headers_of
from .world import LOOPBACK, gateway_settings, open_world, send_raw

PAGE, SECRET, OTHER = "/ann/app", "5" * 64, "6" * 64
BROWSER = {"Accept": "text/html", "User-Agent": "Firefox"}
ANN = BROWSER | {"Remote-User": "ann", "Remote-Email": "ann@corp.example", "Remote-Name": "Ann \u00c5"}
TRUSTING = {"proxy_sign_in_networks": [f"{LOOPBACK}/32"]}


@asynccontextmanager
async def opened(**settings):
    """A gateway whose identity knows the session of ann (7), and that of bob (8)."""
    async with open_world("asgi", **settings) as world, aiohttp.ClientSession(world.url) as client:
        identity = world.identity
        for fields in ({}, {"proxy_user": "ann"}):
            identity.add_credential(7, session=SECRET, **fields)
        identity.add_credential(8, session=OTHER)
        sign_in = ProxySignIn(
            user="ann", email="ann@corp.example", name="Ann \u00c5", address=LOOPBACK, user_agent="Firefox"
        )
        identity.internal.proxy_sessions[sign_in] = ProxySession(secret=SECRET, seconds=600)
        yield world, client


async def arrived(client, path=PAGE, *, method="GET", headers=None):
    """The answer, and the headers that the service got."""
    async with client.request(method, path, headers=headers or ANN) as answer:
        return answer, headers_of(await answer.json())


async def test_a_browser_of_a_trusted_proxy_gets_a_session():
    async with opened(**TRUSTING) as (_, client):
        answer, headers = await arrived(client)
    assert headers["ingot-principal"] == "principal of 7"
    cookie = answer.headers["Set-Cookie"]
    assert cookie == f"ingot-session={SECRET}; Path=/; Max-Age=600; HttpOnly; SameSite=lax"
    assert not {"remote-user", "remote-email", "remote-name"} & headers.keys()


async def test_a_browser_that_opens_a_file_gets_a_session():
    """Pages link to it, so it takes the cookie as well."""
    async with opened(**TRUSTING) as (_, client):
        answer, headers = await arrived(client, "/ann/app/archive/main.zip")
    assert headers["ingot-principal"] == "principal of 7"
    assert SECRET in answer.headers["Set-Cookie"]


async def test_over_https_the_cookie_is_for_this_host_alone():
    async with opened(**TRUSTING, public_url="https://ingot.test/") as (_, client):
        answer, _ = await arrived(client)
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"__Host-ingot-session={SECRET};")
    assert cookie.endswith("; Secure")


async def test_a_session_of_the_same_user_goes_on():
    async with opened(**TRUSTING) as (_, client):
        answer, headers = await arrived(client, headers=ANN | {"Cookie": f"ingot-session={SECRET}"})
    assert headers["ingot-principal"] == "principal of 7"
    assert "Set-Cookie" not in answer.headers


async def test_a_session_of_another_user_is_replaced():
    async with opened(**TRUSTING) as (_, client):
        answer, headers = await arrived(client, headers=ANN | {"Cookie": f"ingot-session={OTHER}"})
    assert headers["ingot-principal"] == "principal of 7"
    assert SECRET in answer.headers["Set-Cookie"]


OWN_PAGES = ["/login", "/login/oauth/authorize", "/login/second_factor", "/user/confirm_address"]


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", OWN_PAGES)
async def test_a_session_of_another_user_does_not_arrive_at_the_pages_of_the_sign_in(path, method):
    async with opened(**TRUSTING) as (_, client):
        cookies = {"Cookie": f"a=1; ingot-session={OTHER}; ingot-form=2"}
        _, shown = await arrived(client, path, method=method, headers=ANN | cookies)
        assert shown["cookie"] == "a=1; ingot-form=2"
        assert "ingot-principal" not in shown
        for text in (f'="{OTHER}"', f"=%36{OTHER[1:]}", f" ={OTHER}"):
            cookie = {"Cookie": f"ingot-session{text}"}
            assert "cookie" not in (await arrived(client, path, method=method, headers=ANN | cookie))[1]


@pytest.mark.parametrize("path", OWN_PAGES)
async def test_a_session_of_the_user_arrives_at_the_pages_of_the_sign_in(path):
    async with opened(**TRUSTING) as (world, client):
        world.identity.add_enrolling_session(OTHER, proxy_user="ann")
        for secret in (SECRET, OTHER):
            cookies = {"Cookie": f"ingot-session={secret}; a=1"}
            answer, shown = await arrived(client, path, headers=ANN | cookies)
            assert shown["cookie"] == f"a=1; ingot-session={secret}"
            assert "Set-Cookie" not in answer.headers


async def test_without_the_header_all_cookies_arrive_at_the_pages_of_the_sign_in():
    async with opened(**TRUSTING) as (world, client):
        cookies = {"Cookie": f"ingot-session={OTHER}; a=1"}
        _, shown = await arrived(client, "/login", headers=BROWSER | cookies)
        assert shown["cookie"] == f"ingot-session={OTHER}; a=1"
        assert world.identity.authentications == 0


async def test_a_session_that_sets_up_a_second_factor_goes_on():
    async with opened(**TRUSTING) as (world, client):
        world.identity.add_enrolling_session(OTHER, proxy_user="ann")
        for _ in range(2):
            answer, headers = await arrived(client, headers=ANN | {"Cookie": f"ingot-session={OTHER}"})
            assert "Set-Cookie" not in answer.headers
            assert "ingot-principal" not in headers
        assert "/internal/proxy-sign-ins" not in world.identity.internal.paths


@pytest.mark.parametrize("path", [PAGE, "/ann/app/archive/main.zip"])
async def test_no_cache_stores_the_cookie(path):
    async with opened(**TRUSTING) as (_, client):
        async with client.get(path, params={"do": "public"}, headers=ANN) as answer:
            assert SECRET in answer.headers["Set-Cookie"]
            assert answer.headers.getall("Cache-Control") == ["private, no-store"]
        headers = ANN | {"Cookie": f"ingot-session={SECRET}"}
        async with client.get(path, params={"do": "public"}, headers=headers) as answer:
            assert answer.headers.getall("Cache-Control") == ["public, max-age=3600"]


async def test_a_user_without_an_account_is_anonymous():
    async with opened(**TRUSTING) as (_, client):
        cookie = {"Cookie": f"ingot-session={SECRET}"}
        for headers in (ANN | {"Remote-User": "eve"}, ANN | cookie | {"Remote-User": "eve"}):
            answer, shown = await arrived(client, headers=headers)
            assert "ingot-principal" not in shown
            assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    "networks", [[], ["192.0.2.0/24"], ["::1/128"], ["127.0.0.2/32", "10.0.0.0/8"]], ids=str
)
async def test_other_addresses_sign_no_user_in(networks):
    """Also when they claim to come from a trusted one."""
    async with opened(proxy_sign_in_networks=networks, trusted_proxies=["127.0.0.0/8"]) as (world, client):
        for claim in ({}, {"X-Forwarded-For": "192.0.2.1"}, {"X-Forwarded-For": "::1"}):
            answer, headers = await arrived(client, headers=ANN | claim)
            assert "ingot-principal" not in headers
            assert "Set-Cookie" not in answer.headers
            assert not {"remote-user", "remote-email", "remote-name"} & headers.keys()
        assert world.identity.authentications == 0


@pytest.mark.parametrize(
    ("path", "method", "headers"),
    [
        (REPO, "GET", ANN),
        ("/ann/app/info/refs", "GET", ANN),
        ("/ann/app.git/git-receive-pack", "POST", ANN),
        ("/login", "GET", ANN),
        (PAGE, "POST", ANN),
        (PAGE, "GET", ANN | {"Accept": "application/json"}),
    ],
)
async def test_only_browsers_that_open_pages_get_a_session(path, method, headers):
    async with opened(**TRUSTING) as (_, client):
        answer, shown = await arrived(client, path, method=method, headers=headers)
    assert "ingot-principal" not in shown
    assert "Set-Cookie" not in answer.headers
    assert "remote-user" not in shown


@pytest.mark.parametrize(
    "users",
    [
        [b"ann", b"ann"],
        [b"ann", b"root"],
        [b"", b"ann"],
        [b"ann", b""],
        [b"a" * 256],
        [b"\xff\xfe"],
        ["ann\u202e".encode()],
        [b"an\tn"],
    ],
    ids=str,
)
async def test_a_user_that_is_repeated_or_not_readable_is_refused(users):
    async with opened(**TRUSTING) as (world, _):
        lines = b"".join(b"Remote-User: %s\r\n" % user for user in users)
        request = b"GET %s HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nConnection: close\r\n%s\r\n"
        answer = await send_raw(world.url, request % (PAGE.encode(), lines))
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"set-cookie" not in answer.lower()
        assert world.services["web"].calls == 0


async def test_an_empty_user_is_none():
    async with opened(**TRUSTING) as (_, client):
        headers = ANN | {"Remote-User": "", "Cookie": f"ingot-session={SECRET}"}
        _, shown = await arrived(client, headers=headers)
    assert shown["ingot-principal"] == "principal of 7"


async def test_the_names_of_the_headers_are_settings():
    names = {
        "proxy_user_header": "X-Auth-User",
        "proxy_email_header": "X-Auth-Email",
        "proxy_name_header": "X-N",
    }
    headers = BROWSER | {"X-Auth-User": "ann", "X-Auth-Email": "ann@corp.example", "X-N": "Ann \u00c5"}
    async with opened(**TRUSTING, **names) as (_, client):
        _, shown = await arrived(client, headers=headers)
        assert shown["ingot-principal"] == "principal of 7"
        _, shown = await arrived(client)
        assert "ingot-principal" not in shown
    async with opened(**names) as (_, client):
        _, shown = await arrived(client, headers=headers)
        assert not {"x-auth-user", "x-auth-email", "x-n", "ingot-principal"} & shown.keys()


def test_a_network_that_is_none_is_refused():
    with pytest.raises(SettingsError, match="INGOT_GATEWAY_PROXY_SIGN_IN_NETWORKS"):
        create_app(gateway_settings(proxy_sign_in_networks=["proxy.example"]))
