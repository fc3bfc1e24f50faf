"""``ingot export`` and ``ingot import``: their errors. An end-to-end test moves a repository."""

import hashlib
import io
import json
import socket
import stat
import struct
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from .ingot_command import ingot


class Server(ThreadingHTTPServer):
    """Answers every request with ``status``, ``headers`` and ``body``, and records it.

    It resets connections for paths that end in ``resets``, and fails for ``fails``. ``bodies`` are other
    answers by the end of a path.
    """

    def __init__(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.requests: list[tuple[str, str, str]] = []
        self.resets, self.fails, self.bodies = "", "", dict[str, bytes]()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.requests.append((self.command, self.path, self.headers.get("Authorization", "")))
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                ends = (one for end, one in server.bodies.items() if self.path.endswith(end))
                answer = next(ends, body)
                fails = bool(server.fails) and self.path.endswith(server.fails)
                self.send_response(500 if fails else status)
                for name, value in {**headers, "Content-Length": str(len(answer))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if server.resets and self.path.endswith(server.resets):
                    self.wfile.write(body[:5])
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()
                    return
                self.wfile.write(answer)

            do_GET = do_DELETE = do_POST  # noqa: N815 - the names of the library

            def log_message(self, *_: object) -> None:
                """Quiet."""

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/ann/demo"


@pytest.fixture
def serve() -> Iterator[Any]:
    servers: list[Server] = []

    def start(*answer: Any, **headers: str) -> Server:
        server = Server(*answer, **headers)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    "address", ["", "demo", "/ann/demo", "ftp://x/ann/demo", "http://x/demo", "http://ann:secret@x/ann/demo"]
)
def test_what_is_no_address_of_a_repository_is_refused(address: str, tmp_path: Path) -> None:
    error = ingot("export", address, str(tmp_path / "a.zip")).error_line
    assert "is not the address of a repository" in error


def test_a_file_that_exists_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_text("mine")
    error = ingot("export", "http://127.0.0.1:1/ann/demo", str(tmp_path / "a.zip")).error_line
    assert "exists; name another file" in error
    assert (tmp_path / "a.zip").read_text() == "mine"


def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    error = ingot("export", "http://127.0.0.1:1/ann/demo", str(tmp_path / "a.zip")).error_line
    assert "http://127.0.0.1:1 does not answer" in error


def test_an_archive_that_does_not_exist_is_named(tmp_path: Path) -> None:
    error = ingot("import", str(tmp_path / "a.zip"), "http://127.0.0.1:1/ann/demo").error_line
    assert "a.zip does not exist" in error


def test_the_reason_of_a_refusal_is_shown(tmp_path: Path, serve: Any) -> None:
    body = b'{"message": "no", "errors": [{"message": "the archive has version 7;\\n1 can be imported"}]}'
    (tmp_path / "a.zip").write_bytes(b"x")
    server = serve(422, body)
    error = ingot("import", str(tmp_path / "a.zip"), server.url, INGOT_TOKEN="t0ken").error_line
    assert "refuses it (422): the archive has version 7; 1 can be imported" in error
    assert server.requests == [("POST", "/api/v1/repos/migrate/archive?owner=ann&name=demo", "token t0ken")]


@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_gets_no_token(tmp_path: Path, serve: Any, status: int) -> None:
    other = serve(200)
    server = serve(status, Location=other.url)
    error = ingot("export", server.url, str(tmp_path / "a.zip"), INGOT_TOKEN="t0ken").error_line
    assert f"refuses it ({status})" in error
    assert other.requests == []


def test_control_characters_of_a_server_do_not_reach_the_terminal(tmp_path: Path, serve: Any) -> None:
    server = serve(403, b'{"message": "no\\u001b]0;title\\u0007\\u009b31m"}')
    error = ingot("export", server.url, str(tmp_path / "a.zip")).error_line
    assert "refuses it (403): no]0;title31m" in error


DONE = b'{"status": "done", "counts": {}}'


def test_files_that_an_archive_lacks_are_named(tmp_path: Path, serve: Any) -> None:
    left_out = [{"number": 4, "name": "fi\x1blm.mp4", "size": 50_000_000, "reason": "too-large"}]
    body = json.dumps({"status": "done", "counts": {}, "left_out_files": left_out}).encode()
    server = serve(200, body, ETag=f'"{hashlib.sha256(body).hexdigest()}"')
    command = ingot("export", server.url, str(tmp_path / "a.zip"))
    assert f"{server.url} #4: film.mp4 is left out: too-large" in command.out


@pytest.mark.parametrize("body", [b"no JSON", b"[]", b"{}", b"[" * 100_000, b"7"])
def test_another_answer_than_ingot_gives_is_no_traceback(tmp_path: Path, serve: Any, body: bytes) -> None:
    server = serve(200, body)
    error = ingot("export", server.url, str(tmp_path / "a.zip")).error_line
    assert f"{server.url.removesuffix('/ann/demo')} gives another answer than Ingot" in error


def test_only_its_owner_reads_an_archive(tmp_path: Path, serve: Any) -> None:
    server = serve(200, DONE, ETag=f'"{hashlib.sha256(DONE).hexdigest()}"')
    (tmp_path / "a.zip.unfinished").write_text("left by a killed command")
    ingot("export", server.url, str(tmp_path / "a.zip"))
    [path] = tmp_path.glob("a.zip*")
    assert (path.name, path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == ("a.zip", DONE, 0o600)


@pytest.mark.parametrize("is_reset", [True, False])
def test_a_download_that_breaks_off_leaves_no_file(tmp_path: Path, serve: Any, is_reset: bool) -> None:
    server = serve(200, DONE, ETag='"another"')
    server.resets = "/archive" if is_reset else ""
    error = ingot("export", server.url, str(tmp_path / "a.zip")).error_line
    assert "the download broke off" in error
    assert [*tmp_path.glob("a.zip*")] == []


def archive_with(name: str = "", text: bytes = b"") -> bytes:
    """Return an archive with one file besides its manifest. A part of it is an answer about an export."""
    one = {"path": name, "size": len(text), "sha256": hashlib.sha256(text).hexdigest()}
    manifest = {
        "format": "ingot-archive", "version": 1, "created_at": "2020-01-02T03:04:05Z", "service": "gitea",
        "url": "https://git.example.org/ann/demo", "name": "demo", "files": [one] if name else [],
    }  # fmt: skip
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("manifest.json", json.dumps(manifest))
        if name:
            file.writestr(name, text)
    return buffer.getvalue()


def test_a_layout_is_made_of_the_downloaded_archive_and_leaves_nothing_else(
    tmp_path: Path, serve: Any
) -> None:
    body = archive_with()
    server = serve(200, body, ETag=f'"{hashlib.sha256(body).hexdigest()}"')
    server.bodies["/export"] = DONE
    ingot("export", server.url, str(tmp_path / "layout"), "--layout", "gitea")
    assert [path.name for path in tmp_path.iterdir()] == ["layout"]
    assert json.loads((tmp_path / "layout" / "repo.yml").read_text())["name"] == "demo"
    error = ingot("export", server.url, str(tmp_path / "layout"), "--layout", "gitea").error_line
    assert "exists; name another file" in error


def test_git_reads_no_other_repository_for_a_layout(tmp_path: Path, serve: Any) -> None:
    private = tmp_path / "private"
    subprocess.run(["git", "init", "-q", str(private)], check=True)
    for body, words in (
        (archive_with("git/repository.bundle", f"gitdir: {private}/.git\n".encode()), "not a bundle of git"),
        (archive_with("git/repository.bundle", bytes(10**8)), "times as large as the archive"),
        (b"PK", "is not an archive of Ingot"),
    ):
        server = serve(200, body, ETag=f'"{hashlib.sha256(body).hexdigest()}"')
        server.bodies["/export"] = DONE
        error = ingot("export", server.url, str(tmp_path / "layout"), "--layout", "gitea").error_line
        assert words in error
        assert [path.name for path in tmp_path.iterdir()] == ["private"]
