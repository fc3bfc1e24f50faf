"""Remotes to fetch from: git's own HTTP backend behind a small server that misbehaves on demand."""

import asyncio
import base64
import contextlib
import os
import resource
import ssl
from pathlib import Path

from .world import git

GIT = "/git-upload-pack"


@contextlib.contextmanager
def files_limited_to(size):
    """As on a full disk: no file of this process and of its git gets larger, in bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class Remote:
    """A server for the bare repositories of a folder. ``answer`` may respond itself, with raw bytes or by
    hand.

    ``answer(method, path, headers, writer)`` is awaited first. Its result is sent; None leaves the request to
    git. ``body`` is the body of the request. With ``keeps_open`` the connection stays open after such an
    answer. ``chunk`` and ``pause`` slow git's responses down. ``tls`` makes it https.
    """

    def __init__(self, folder: Path, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"):
        self.folder, self.tls, self.host = folder, tls, host
        self.requests, self.body = [], b""
        self.arrived = asyncio.Event()
        self.answer = None
        self.chunk, self.pause, self.pauses = 65536, 0.0, 0
        self.cut = None
        self.keeps_open = False

    async def __aenter__(self):
        self.folder.mkdir(exist_ok=True)
        self.server = await asyncio.start_server(self._serve, self.host, 0, ssl=self.tls)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self.server.close()

    def url(self, name="source.git", host=""):
        return f"http{'s' if self.tls else ''}://{host or self.host}:{self.port}/{name}"

    async def _serve(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError), contextlib.closing(writer):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, target, _ = head[0].split(" ")
                headers = {
                    name.lower(): value.strip()
                    for name, _, value in (line.partition(":") for line in head[1:] if line)
                }
                body = self.body = await self._body(reader, headers)
                self.requests.append((method, target, headers))
                self.arrived.set()
                raw = await self.answer(method, target, headers, writer) if self.answer else None
                writer.write(raw if raw is not None else b"")
                if raw is not None:
                    await writer.drain()
                    if self.keeps_open:
                        continue
                    return
                await self._git(method, target, headers, body, writer)

    async def _body(self, reader, headers):
        if headers.get("transfer-encoding") != "chunked":
            return await reader.readexactly(int(headers.get("content-length", 0)))
        body = bytearray()
        while size := int(await reader.readline(), 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
        return bytes(body)

    async def _git(self, method, target, headers, body, writer):
        path, _, query = target.partition("?")
        process = await asyncio.create_subprocess_exec(
            "git", "http-backend", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            env={
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(self.folder), "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": method,
                "CONTENT_TYPE": headers.get("content-type", ""), "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""),
                "GIT_PROTOCOL": headers.get("git-protocol", ""), "REMOTE_ADDR": "127.0.0.1",
                "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
            },
        )  # fmt: skip
        output, _ = await process.communicate(body)
        head, _, content = output.partition(b"\r\n\r\n")
        lines = [line for line in head.split(b"\r\n") if not line.startswith(b"Status:")]
        status = next((line[8:] for line in head.split(b"\r\n") if line.startswith(b"Status:")), b"200 OK")
        lines.append(b"Content-Length: %d" % len(content))
        writer.write(b"HTTP/1.1 " + status + b"\r\n" + b"\r\n".join(lines) + b"\r\n\r\n")
        for start in range(0, len(content), self.chunk):
            if self.cut is not None and path.endswith(GIT) and start >= self.cut:
                writer.transport.abort()
                raise ConnectionError
            writer.write(content[start : start + self.chunk])
            await writer.drain()
            self.pauses += 1
            await asyncio.sleep(self.pause)


def answering(raw):
    """An ``answer`` that says this to everything."""

    async def answer(*_):
        return raw

    return answer


def status(line, *more):
    return ("\r\n".join((f"HTTP/1.1 {line}", *more, "Content-Length: 0", "", ""))).encode()


async def silent(*_):
    """An ``answer`` that never comes."""
    await asyncio.Event().wait()


def wanting(user, password):
    """An ``answer`` that lets through who knows the password."""
    expected = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    async def answer(_method, _target, headers, _writer):
        if headers.get("authorization") == expected:
            return None
        return status("401 Unauthorized", 'WWW-Authenticate: Basic realm="there"')

    return answer


def advertisement(refs):
    """Return a response to the first request of a fetch, in protocol version 0 (gitprotocol-http(5))."""

    def line(text):
        return b"%04x" % (len(text) + 4) + text

    lines, capabilities = [line(b"# service=git-upload-pack\n"), b"0000"], b"\0side-band-64k\n"
    for name in refs:
        lines.append(line(b"1" * 40 + b" " + name + capabilities))
        capabilities = b"\n"
    body = b"".join([*lines, b"0000"])
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def bare_source(folder, tmp_path, name="source.git"):
    """A work tree and its bare repository in the folder of a remote; what is pushed there is served."""
    work = tmp_path / f"work-{name}"
    work.mkdir()
    await git("init", "-q", "-b", "trunk", cwd=work)
    await git("init", "-q", "--bare", "-b", "trunk", str(folder / name), cwd=work)
    await git("remote", "add", "origin", str(folder / name), cwd=work)
    return work
