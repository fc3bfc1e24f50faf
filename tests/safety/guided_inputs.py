"""Coverage-guided inputs for parsers: `make fuzz`, with atheris (libFuzzer).

``python tests/safety/guided_inputs.py push|token|upload -max_total_time=SECONDS`` exits with an error and
shows the input if a parser raises an undocumented exception. In the gate, ``test_parsers.py`` tests these
three parsers without guidance and so without atheris.
"""

import asyncio
import contextlib
import sys
import tempfile
from pathlib import Path

try:
    import atheris
except ModuleNotFoundError:  # it is installed by `make fuzz` alone
    atheris = None
INSTRUMENTED = ["ingot_chassis", "ingot_repos", "jwt", "multipart"]

with atheris.instrument_imports(include=INSTRUMENTED) if atheris else contextlib.nullcontext():
    from litestar import Litestar, Response, post

    from ingot_chassis.errors import BadRequest, Unauthenticated
    from ingot_chassis.http.request import ApiRequest
    from ingot_chassis.http.uploads import uploaded_file
    from ingot_chassis.security.keys import Jwks, SigningKey
    from ingot_chassis.security.principal import ANONYMOUS, PrincipalVerifier, sign_principal
    from ingot_git.process.errors import BodyRefused, InvalidName
    from ingot_git.protocol.push_requests import read_push_commands

EVENT_LOOP = asyncio.new_event_loop()


def parts(data: bytes, length: int) -> list[bytes]:
    """The bytes as a client may send them: cut into parts of one length."""
    return [data[start : start + length] for start in range(0, len(data), length)]


def push(data: bytes) -> None:
    """pkt-lines: what was read is given on unchanged."""

    async def body():
        for part in parts(data[1:], data[0] + 1):
            yield part

    async def read() -> bytes:
        request = await read_push_commands(body())
        return b"".join([part async for part in request.body])

    if data:
        try:
            output = EVENT_LOOP.run_until_complete(read())
        except (BodyRefused, InvalidName):
            return
        assert output == data[1:]


KEY = SigningKey.generate()
TOKEN_PARTS = sign_principal(ANONYMOUS, KEY, audience=["repos"]).split(".")


async def fetch_keys() -> Jwks:
    return Jwks(keys=[KEY.jwk()])


def token(data: bytes) -> None:
    """A principal token with one of its three parts replaced. Only identity can make a valid one."""
    verifier = PrincipalVerifier("repos", fetch_keys)
    replaced = list(TOKEN_PARTS)
    replaced[data[0] % 3 if data else 0] = data[1:].decode("latin-1")
    if replaced == TOKEN_PARTS:
        return
    try:
        EVENT_LOOP.run_until_complete(verifier.verify(".".join(replaced)))
    except Unauthenticated:
        return
    raise AssertionError("a token that identity did not make was accepted")


@post("/", request_class=ApiRequest)
async def read_file(request: ApiRequest) -> None:
    file = await uploaded_file(request, "attachment")
    async for _ in file.chunks:
        pass


UPLOADS = Litestar(
    [read_file], exception_handlers={BadRequest: lambda _, __: Response(None, status_code=400)}
)
FORM = {
    "type": "http",
    "method": "POST",
    "path": "/",
    "raw_path": b"/",
    "query_string": b"",
    "headers": [(b"content-type", b"multipart/form-data; boundary=x")],
}


def upload(data: bytes) -> None:
    """A form with a file: read, or refused as a bad request."""
    bodies = parts(data[1:], data[0] + 1) if data else []
    statuses = []

    async def receive():
        body = bodies.pop(0) if bodies else b""
        return {"type": "http.request", "body": body, "more_body": bool(bodies)}

    async def send(message):
        statuses.append(message.get("status"))

    EVENT_LOOP.run_until_complete(UPLOADS(dict(FORM), receive, send))
    assert statuses[0] in (201, 400), statuses


BEGINNINGS = {
    push: b"\x10" + b"0" * 4 + b"0" * 40 + b" " + b"1" * 40 + b" refs/heads/a\0report-status\n0000",
    token: b"\x00" + TOKEN_PARTS[0].encode(),
    upload: (
        b'\x10--x\r\nContent-Disposition: form-data; name="attachment"; filename="a"\r\n\r\nabc\r\n--x--\r\n'
    ),
}

if __name__ == "__main__":
    target = {function.__name__: function for function in BEGINNINGS}[sys.argv.pop(1)]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "beginning").write_bytes(BEGINNINGS[target])
        atheris.Setup([*sys.argv, folder], target)
        atheris.Fuzz()
