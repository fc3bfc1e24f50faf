"""Parts of a request's head that pass, and requests that are rejected for their head."""

import pytest

from .world import send_raw

REPO = "/api/v1/repos/ann/app"


def headers_of(echo: dict) -> dict[str, str]:
    return dict(echo["headers"])


@pytest.mark.parametrize(
    "name",
    [
        "Ingot-Principal",
        "Ingot-Service",
        "Ingot-Anything",
        "Authorization",
        "Sudo",
        "Cookie",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "Forwarded",
        "X-Real-IP",
        "Proxy-Authorization",
        "Keep-Alive",
        "TE",
        "Expect",
    ],
)
async def test_headers_that_only_the_gateway_may_set_are_removed(client, name):
    async with client.get(REPO, headers={name: "forged"}) as answer:
        assert answer.status == 200
        assert "forged" not in str(await answer.json())


async def test_headers_of_one_connection_stay_on_it(world):
    request = f"GET {REPO} HTTP/1.1\r\nHost: x\r\nConnection: close, X-Own\r\nX-Own: secret\r\n\r\n".encode()

    assert b"secret" not in await send_raw(world.url, request)


@pytest.mark.parametrize("sent", ["abc-DEF_1.2", "0" * 64])
async def test_a_well_formed_request_id_is_passed_on(client, sent):
    async with client.get(REPO, headers={"X-Request-Id": sent}) as answer:
        assert headers_of(await answer.json())["x-request-id"] == sent
        assert answer.headers.getall("X-Request-Id") == [sent]


@pytest.mark.parametrize("sent", ["", "a b", "x" * 65, "ä", "{}", '"'])
async def test_any_other_request_id_is_replaced(client, sent):
    async with client.get(REPO, headers={"X-Request-Id": sent}) as answer:
        request_id = headers_of(await answer.json())["x-request-id"]

    assert len(request_id) == 32
    assert answer.headers.getall("X-Request-Id") == [request_id]


async def test_the_gateway_answers_for_its_own_health(world, client):
    for path in ("/livez", "/readyz"):
        async with client.get(path, headers={"Ingot-Principal": "forged"}) as answer:
            assert answer.status == 200

    assert all(service.calls == 0 for service in world.services.values())


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("".join(f"X-{n}: y\r\n" for n in range(200)), 431),
        (f"X-Long: {'y' * 40_000}\r\n", 431),
        ("", 414),
    ],
)
async def test_a_head_beyond_the_limits_is_refused(world, head, status):
    query = "q" * 20_000 if status == 414 else ""
    request = f"GET {REPO}?{query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{head}\r\n".encode()
    answer = await send_raw(world.url, request)

    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b'"message":' in answer
    assert world.services["repos"].calls == 0
