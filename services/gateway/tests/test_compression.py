"""Compression: compressed responses, and their unchanged content."""

import gzip
from typing import Any

import msgspec
import pytest

from ingot_gateway.compression import LEAST_BYTES, PIECE, Compressed

LARGE = msgspec.json.encode({"text": "some words " * 1000})
JSON = {"content-type": "application/json"}
BROWSER = {"accept-encoding": "gzip, deflate, br, zstd"}


def pairs(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


class Answer:
    """The messages of one response after compression."""

    def __init__(self, messages: list[Any]) -> None:
        self.status = messages[0]["status"]
        self.headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
        self.parts = [message["body"] for message in messages[1:]]
        self.ends = [not message["more_body"] for message in messages[1:]]

    @property
    def body(self) -> bytes:
        whole = b"".join(self.parts)
        return gzip.decompress(whole) if self.headers.get("content-encoding") == "gzip" else whole


async def answer(
    *parts: bytes,
    method: str = "GET",
    status: int = 200,
    answered: dict[str, str] = JSON,
    sent: dict[str, str] = BROWSER,
    length: bool = True,
) -> Answer:
    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        headers = pairs(answered)
        if length:
            headers.append((b"content-length", str(sum(map(len, parts))).encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for number, part in enumerate(parts, 1):
            await send({"type": "http.response.body", "body": part, "more_body": number < len(parts)})

    messages: list[Any] = []

    async def send(message: Any) -> None:
        messages.append(message)

    scope: Any = {"type": "http", "method": method, "headers": pairs(sent)}
    await Compressed(app)(scope, None, send)  # type: ignore[arg-type]
    return Answer(messages)


async def test_a_large_answer_is_compressed_whole():
    compressed = await answer(LARGE)

    assert compressed.headers["content-encoding"] == "gzip"
    assert compressed.headers["vary"] == "Accept-Encoding"
    assert int(compressed.headers["content-length"]) == len(compressed.parts[0]) < len(LARGE) / 10
    assert compressed.body == LARGE


@pytest.mark.parametrize("length", [True, False])
@pytest.mark.parametrize("parts", [(LARGE, LARGE), (LARGE, b""), (b"", LARGE), (b"x" * (PIECE * 3 + 1),)])
async def test_an_answer_in_parts_is_compressed_part_by_part(parts, length):
    compressed = await answer(*parts, length=length)

    assert "content-length" not in compressed.headers
    assert compressed.body == b"".join(parts)
    assert compressed.ends == [False] * (len(compressed.ends) - 1) + [True]


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "POST"},
        {"method": "HEAD"},
        {"status": 404},
        {"sent": {}},
        {"sent": {"accept-encoding": "br, identity, gzip;q=0"}},
        {"sent": BROWSER | {"sec-fetch-site": "cross-site"}},
        {"answered": {"content-type": "application/x-git-upload-pack-result"}},
        {"answered": {"content-type": "text/plain"}},
        {"answered": JSON | {"content-encoding": "br"}},
        {"answered": JSON | {"etag": '"1"'}},
        {"answered": JSON | {"content-range": "bytes 0-9/10"}},
    ],
)
async def test_other_answers_pass_as_they_are(changes):
    plain = await answer(LARGE, **changes)

    assert plain.headers.get("content-encoding") != "gzip"
    assert plain.body == LARGE
    assert plain.headers["content-length"] == str(len(LARGE))


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "text/css", "text/javascript; charset=utf-8"])
async def test_pages_with_their_styles_and_scripts_are_compressed(kind):
    compressed = await answer(LARGE, answered={"content-type": kind})

    assert compressed.headers["content-encoding"] == "gzip"
    assert compressed.body == LARGE


async def test_a_small_answer_is_not_worth_it():
    small = await answer(b"x" * (LEAST_BYTES - 1))

    assert "content-encoding" not in small.headers
    assert small.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_pages_of_this_site_get_compressed_answers(site):
    assert (await answer(LARGE, sent=BROWSER | {"sec-fetch-site": site})).headers[
        "content-encoding"
    ] == "gzip"
