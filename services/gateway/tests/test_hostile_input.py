"""Hostile names in every part of a request that the gateway reads: no response is a server error.

A client cannot add headers to a response, or to the headers that only the gateway sends to services.
"""

import asyncio
from collections.abc import Iterator

import pytest

from ingot_testing.hostile_values import VALUES, as_text, is_turn_of, written

from .world import send_raw

LINES = (
    "{} / HTTP/1.1",
    "GET /{} HTTP/1.1",
    "GET /{}/{}/info/refs?service=git-upload-pack HTTP/1.1",
    "GET /ann/app/pulls/{}.diff HTTP/1.1",
    "GET /login/{} HTTP/1.1",
    "GET /api/{} HTTP/1.1",
    "GET /api/v1/swagger/{} HTTP/1.1",
    "POST /api/v1/admin/cron/{} HTTP/1.1",
    "GET /api/v1/admin/audit?before={}&actor={}&action={}&limit={} HTTP/1.1",
    "GET /api/v1/user?token={} HTTP/1.1",
    "GET /api/v1/user?access_token={}&sudo={} HTTP/1.1",
    "GET /api/v1/version?{}={} HTTP/1.1",
    "GET /livez/{} HTTP/1.1",
    "GET http://{}/api/v1/user HTTP/1.1",
    "GET /api/v1/user HTTP/{}",
)
HEADERS = (
    *(
        "Authorization: token {}",
        "Authorization: Basic {}",
        "Authorization: {}",
        "Cookie: {}",
        "Cookie: {}={}",
    ),
    *("Sudo: {}", "X-Gitea-OTP: {}", "X-Forwarded-For: {}", "X-Request-Id: {}", "X-Forwarded-Proto: {}"),
    *(
        "Origin: {}",
        "Access-Control-Request-Method: {}",
        "Accept: {}",
        "Accept-Encoding: {}",
        "Connection: {}",
    ),
    *(
        "Content-Type: {}",
        "Transfer-Encoding: {}",
        "Expect: {}",
        "Upgrade: {}",
        "Traceparent: {}",
        "Range: {}",
    ),
    *("Ingot-Principal: {}", "Ingot-Service: {}", "{}: x"),
)
LINE = "GET /api/v1/user HTTP/1.1"
HIDDEN = b"PUT /api/v1/repos/ann/app/collaborators/stranger HTTP/1.1\r\nHost: x\r\nX-Rest: "
WITHOUT_PLAIN_FRAMING = (
    (
        b"POST /api/v1/repos/ann/app HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n"
        b"Content-Length: %d\r\n\r\n"
    ),
    (
        b"GET /api/v1/repos/ann/app HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
        b"Content-Length: %d\r\n\r\n"
    ),
    b"CONNECT /api/v1/repos/ann/app HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
    b"POST /api/v1/repos/ann/app HTTP/1.0\r\nTransfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n",
    b"POST /api/v1/repos/ann/app HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nContent-Length: 0\r\n\r\n",
)
AT_ONCE = 8


def filled(place: str, value: str) -> str:
    return place.replace("{}", value)


def requests(values: list[str]) -> Iterator[bytes]:
    """Yield requests with each value: in request lines both raw and encoded, in headers only raw.

    A header value with a line break becomes two headers.
    """
    for number, line in enumerate(LINES):
        for value in values:
            if is_turn_of(value, number):
                for text in (written(value), as_text(value)):
                    yield f"{filled(line, text)}\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
    for number, header in enumerate(HEADERS):
        for value in values:
            if is_turn_of(value, number):
                text = filled(header, as_text(value))
                yield f"{LINE}\r\nHost: x\r\n{text}\r\nConnection: close\r\n\r\n".encode()


async def test_whatever_stands_in_a_head_is_answered(world):
    wrong = []

    async def attempt(request: bytes) -> None:
        head, _, _ = (await send_raw(world.url, request)).partition(b"\r\n\r\n")
        status = head[9:12]
        if not head.startswith(b"HTTP/1.1 ") or status >= b"500" or b"set-cookie: a" in head.lower():
            wrong.append((request[:200], head))

    sent = list(requests(VALUES))
    for start in range(0, len(sent), AT_ONCE):
        await asyncio.gather(*map(attempt, sent[start : start + AT_ONCE]))
    assert len(sent) > 10 * len(VALUES)
    assert wrong == []


@pytest.mark.parametrize(
    "head", WITHOUT_PLAIN_FRAMING, ids=["upgrade", "h2c", "CONNECT", "1.0", "two lengths"]
)
@pytest.mark.parametrize("body", [b"", HIDDEN], ids=["no body", "a request as body"])
async def test_no_request_is_read_as_a_part_of_another(world, head, body):
    """The service must not wait for bytes that never come: it would take them from the next caller."""
    answer = await send_raw(world.url, head % max(len(body), len(HIDDEN)) + body)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert world.services["repos"].calls == 0
    victim = b"GET /api/v1/repos/ann/app?victim HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    for calls in (1, 2):
        answer = await send_raw(world.url, victim)
        assert b'"query":"victim"' in answer
        assert answer.count(b"HTTP/1.1") == 1
        assert world.services["repos"].calls == calls


@pytest.mark.parametrize("name", ["Ingot-Principal", "Ingot-Service", "X-Forwarded-For", "ingot-anything"])
@pytest.mark.parametrize(
    "header",
    ["{}: forged", "{}:forged", "{}:\tforged", "Connection: {}\r\n{}: forged", "X: y\r\n {}: forged"],
)
async def test_no_header_of_the_gateway_is_forged(world, name, header):
    request = (
        f"GET /api/v1/repos/ann/app HTTP/1.1\r\nHost: x\r\n{filled(header, name)}\r\nConnection: close\r\n"
        "\r\n"
    )
    answer = await send_raw(world.url, request.encode())
    assert answer.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 400 "))
    assert f'["{name.lower()}", "forged"]'.encode() not in answer
    assert b'"forged"' not in answer
