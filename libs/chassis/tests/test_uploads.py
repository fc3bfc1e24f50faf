"""Files in bodies: fields of forms, and bodies as they are."""

from typing import Any

import httpx
import msgspec
import pytest
from litestar import Litestar, post

from ingot_chassis.http.error_responses import exception_handlers
from ingot_chassis.http.request import ApiRequest
from ingot_chassis.http.uploads import uploaded_file

FILE = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
END = b"\r\n--b--\r\n"
FIELD = b'--b\r\nContent-Disposition: form-data; name="other"\r\n\r\nvalue\r\n'


class FileAnswer(msgspec.Struct):
    name: str
    length: int | None
    size: int
    chunks: int


@post("/files", request_max_body_size=None, status_code=200)
async def receive(request: ApiRequest) -> FileAnswer:
    file = await uploaded_file(request, "file")
    sizes = [len(chunk) async for chunk in file.chunks]
    return FileAnswer(file.name, file.length, sum(sizes), len(sizes))


@pytest.fixture
async def client():
    handlers: dict[Any, Any] = exception_handlers("tests", "http://ingot.test/", {})
    app = Litestar([receive], request_class=ApiRequest, exception_handlers=handlers)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://tests") as client:
        yield client


async def send(client, body, content_type="multipart/form-data; boundary=b", **headers):
    content = body if isinstance(body, bytes) else pieces(*body)
    answer = await client.post("/files", content=content, headers={"Content-Type": content_type} | headers)
    return answer.status_code, answer.json()


@pytest.mark.parametrize(("announced", "length"), [("30", 30), ("many", None), ("", None)])
async def test_the_announced_length_of_a_body_in_chunks_is_a_hint(client, announced, length):
    headers = {"ingot-announced-length": announced}
    _, answer = await send(client, [b"abc", b"def"], "application/octet-stream", **headers)
    assert (answer["length"], answer["size"]) == (length, 6)


async def pieces(*parts):
    for part in parts:
        yield part


@pytest.mark.parametrize("before", [b"", FIELD])
@pytest.mark.parametrize("after", [END, b"\r\n" + FIELD + END[2:]])
@pytest.mark.parametrize("content", [b"", b"x", b"\r\n--", b"--b", b"0" * 300_000])
async def test_a_file_is_found_among_the_fields_of_a_form(client, before, content, after):
    assert await send(client, before + FILE + content + after) == (
        200,
        {"name": "a.bin", "length": None, "size": len(content), "chunks": bool(content) or 0},
    )


async def test_a_form_is_read_as_it_comes(client):
    body = FILE + b"0123456789" * 1000 + END
    status, answer = await send(client, [body[start : start + 7] for start in range(0, len(body), 7)])
    assert (status, answer["size"]) == (200, 10_000)
    assert answer["chunks"] > 100


@pytest.mark.parametrize("content_type", ["application/octet-stream", "text/plain", "", "application/json"])
async def test_a_body_that_is_no_form_is_the_file(client, content_type):
    assert await send(client, b"{}", content_type) == (200, {"name": "", "length": 2, "size": 2, "chunks": 1})
    assert await send(client, [b"a", b"b"], content_type) == (
        200,
        {"name": "", "length": None, "size": 2, "chunks": 2},
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nothing",
        b"--b--\r\n",
        FIELD + END,
        FIELD.replace(b"other", b"file") + END,
        FILE,
        FILE + b"half",
        FILE + b"whole\r\n--",
        FILE[:30],
        FILE.replace(b"file", b"image") + b"x" + END,
        FIELD.replace(b"value", b"v" * 70_000) + FILE + b"x" + END,
        FIELD * 20 + FILE + b"x" + END,
        b"--b\r\n" + b"X: y\r\n" * 50 + FILE[5:] + END,
        b"--b\r\nX: " + b"y" * 10_000 + b"\r\n" + FILE[5:] + END,
        FILE + b"x\r\n" + FILE + b"y" * 100_000 + END,
    ],
)
async def test_a_form_without_a_whole_file_is_refused(client, body):
    status, answer = await send(client, body)
    assert status == 400, answer


@pytest.mark.parametrize("content_type", ["multipart/form-data", "multipart/form-data; boundary="])
async def test_a_form_without_boundary_is_refused(client, content_type):
    assert (await send(client, FILE + END, content_type))[0] == 400
