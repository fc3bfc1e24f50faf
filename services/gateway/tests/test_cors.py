"""Origins whose pages may read responses."""

import aiohttp
import pytest

from ingot_chassis.settings import SettingsError
from ingot_gateway.app import create_app

from .world import TOKEN, gateway_settings, open_client, open_world

REPO = "/api/v1/repos/ann/app"
CMS = "https://cms.example.org"
PREFLIGHT = {"Origin": CMS, "Access-Control-Request-Method": "PUT"}


def cors_headers(answer) -> dict[str, str]:
    return {
        name.lower(): value for name, value in answer.headers.items() if name.lower().startswith("access-")
    }


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
async def test_no_other_origin_is_allowed_unless_settings_name_it(method):
    async with open_client("asgi") as client, client.request(method, REPO, headers=PREFLIGHT) as answer:
        assert not cors_headers(answer)


async def test_a_named_origin_may_read_answers():
    async with (
        open_client("asgi", cors_origins=[CMS]) as client,
        client.get(REPO, headers={"Origin": CMS}) as answer,
    ):
        headers = cors_headers(answer)
        assert answer.headers.getall("Vary") == ["Accept-Encoding", "Origin"]

    assert headers["access-control-allow-origin"] == CMS
    assert "X-Total-Count" in headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in headers


@pytest.mark.parametrize("path", [REPO, "/api/v1/nothing", "/login/oauth/access_token"])
async def test_a_preflight_is_answered_without_a_credential_and_reaches_no_service(path):
    async with open_world("asgi", cors_origins=[CMS], cors_max_age=60) as world:
        async with (
            aiohttp.ClientSession(world.url) as client,
            client.options(path, headers={**PREFLIGHT, "Authorization": f"token {TOKEN}"}) as answer,
        ):
            headers = cors_headers(answer)
            assert (answer.status, await answer.read()) == (204, b"")
        assert not any(service.calls for service in world.services.values())
        assert not world.identity.authentications

    assert headers["access-control-allow-origin"] == CMS
    assert "PUT" in headers["access-control-allow-methods"]
    assert "Authorization" in headers["access-control-allow-headers"]
    assert headers["access-control-max-age"] == "60"


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        (REPO, "https://evil.example.org"),
        (REPO, "https://cms.example.org.evil.example"),
        (REPO, "http://cms.example.org"),
        (REPO, "null"),
        ("/ann/app.git/info/refs", CMS),
        ("/livez", CMS),
    ],
)
async def test_nothing_is_allowed_elsewhere_nor_to_others(path, origin):
    async with open_client("asgi", cors_origins=[CMS]) as client:
        for method in ("GET", "OPTIONS"):
            headers = {**PREFLIGHT, "Origin": origin}
            async with client.request(method, path, headers=headers) as answer:
                assert not cors_headers(answer)


async def test_any_origin_may_read_what_a_star_allows():
    async with (
        open_client("asgi", cors_origins=["*"]) as client,
        client.get(REPO, headers={"Origin": "https://anything.example"}) as answer,
    ):
        assert cors_headers(answer)["access-control-allow-origin"] == "*"


async def test_errors_can_be_read_as_well():
    async with (
        open_client("asgi", cors_origins=[CMS]) as client,
        client.get("/api/v1/nothing", headers={"Origin": CMS}) as answer,
    ):
        assert (answer.status, cors_headers(answer)["access-control-allow-origin"]) == (404, CMS)


async def test_credentials_of_browsers_go_to_named_origins_only():
    async with (
        open_client("asgi", cors_origins=[CMS], cors_credentials=True) as client,
        client.get(REPO, headers={"Origin": CMS}) as answer,
    ):
        assert cors_headers(answer)["access-control-allow-credentials"] == "true"
    with pytest.raises(SettingsError, match="CORS_CREDENTIALS"):
        create_app(gateway_settings(cors_origins=["*"], cors_credentials=True))
