"""A small internet: a name server that lies, a public address, and private ones that must get no request.

`test_egress` runs this file as a program in a network namespace of its own, where resolv.conf names this name
server. The program starts Ingot there and makes it call every name in every possible way. It prints one line
of JSON with the requests that each address got.
"""

import hashlib
import itertools
import json
import os
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import dns.message
import dns.rdatatype
import dns.rrset
import httpx
from tests.e2e.deployments import ADMINISTRATOR, Standalone, running

PUBLIC = "93.184.215.14"
PRIVATE = ("127.0.0.1", "10.1.2.3", "169.254.169.254")
PATIENCE = 60.0

Answer = dict[str, list[str]]
"""By type of record, the addresses."""

NAMES: dict[str, list[Answer]] = {
    "honest.example": [{"A": [PUBLIC]}],
    "redirecting.example": [{"A": [PUBLIC]}],
    "mixed.example": [{"A": [PUBLIC, "127.0.0.1"]}],
    "inside.example": [{"A": ["10.1.2.3"]}],
    "metadata.example": [{"A": ["169.254.169.254"]}],
    "mapped.example": [{"AAAA": ["::ffff:127.0.0.1"]}],
    "both.example": [{"A": [PUBLIC], "AAAA": ["::1"]}],
    "rebinding.example": [{"A": [PUBLIC]}, {"A": ["127.0.0.1"]}],
}
MOVING = "moving.example"
"""Public at first, and private from some moment on."""
"""The addresses of each name, one per question, repeated from the beginning."""
INNER_HOSTS = ("inside.example", "mixed.example", "mapped.example", "127.0.0.1", "[::ffff:10.1.2.3]")
"""Addresses of objects from an LFS server: the path names one of these by its number."""
OBJECT = hashlib.sha256(b"abc").hexdigest()


class NameServer(socketserver.ThreadingUDPServer):
    """A name server for the addresses of ``NAMES``. Its answers must not be cached."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 53), _Question)
        self._answers: dict[tuple[str, str], Iterator[Answer]] = {
            (name, kind): itertools.cycle(answers)
            for name, answers in NAMES.items()
            for kind in ("A", "AAAA")
        }
        self._lock = threading.Lock()
        self.questions: set[str] = set()
        self.moved = False

    def addresses(self, name: str, kind: str) -> list[str]:
        with self._lock:
            self.questions.add(name)
            if name == MOVING:
                return [] if kind != "A" else [PRIVATE[1] if self.moved else PUBLIC]
            answers = self._answers.get((name, kind))
            return next(answers).get(kind, []) if answers is not None else []


class _Question(socketserver.BaseRequestHandler):
    server: NameServer

    def handle(self) -> None:
        packet, socket = self.request
        query = dns.message.from_wire(packet)
        (question,) = query.question
        kind = dns.rdatatype.to_text(question.rdtype)
        response = dns.message.make_response(query, recursion_available=True)
        if addresses := self.server.addresses(question.name.to_text(omit_final_dot=True), kind):
            response.answer.append(dns.rrset.from_text(question.name, 0, "IN", kind, *addresses))
        socket.sendto(response.to_wire(), self.client_address)


class Listener(ThreadingHTTPServer):
    """Port 80 of one address. ``arrivals`` has the host and path of each request, in order.

    Below ``source.git`` git serves ``repository``. The objects of LFS are at addresses that are not for
    Ingot.
    """

    def __init__(self, address: str, repository: Path | None = None) -> None:
        super().__init__((address, 80), _Arrival)
        self.arrivals: list[str] = []
        self.repository = repository


class _Arrival(BaseHTTPRequestHandler):
    server: Listener

    def _answer(self) -> None:
        host = self.headers.get("host", "").partition(":")[0]
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.arrivals.append(f"{host}{self.path}")
        answer = self._content(body)
        if answer is not None:
            kind, content = answer
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            return
        self.send_response(307 if host == "redirecting.example" else 404)
        self.send_header("location", f"http://inside.example{self.path}")
        self.send_header("content-length", "0")
        self.end_headers()

    def _content(self, body: bytes) -> tuple[str, bytes] | None:
        """Type and content of an answer, or None."""
        path, _, query = self.path.partition("?")
        number, separator, rest = path.strip("/").partition("/source.git/")
        if self.server.repository is None or not separator:
            return None
        if rest == "info/lfs/objects/batch":
            actions = {"download": {"href": f"http://{INNER_HOSTS[int(number)]}/object"}}
            answer = {"transfer": "basic", "objects": [{"oid": OBJECT, "size": 3, "actions": actions}]}
            return "application/vnd.git-lfs+json", json.dumps(answer).encode()
        return _served_by_git(self.server.repository, f"/{rest}", query, self.command, body)

    do_GET = do_POST = _answer  # noqa: N815 - so the library calls them

    def log_message(self, *_: object) -> None:
        """Standard output is for the result."""


def _served_by_git(
    repository: Path, path: str, query: str, method: str, body: bytes
) -> tuple[str, bytes] | None:
    """Type and content of what git-http-backend(1) answers; None unless it succeeds."""
    variables = {
        "GIT_PROJECT_ROOT": str(repository), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
        "QUERY_STRING": query, "REQUEST_METHOD": method, "CONTENT_LENGTH": str(len(body)),
        "CONTENT_TYPE": "application/x-git-upload-pack-request" if body else "",
    }  # fmt: skip
    process = subprocess.run(
        ["git", "http-backend"], input=body, stdout=subprocess.PIPE, env=os.environ | variables, check=True
    )
    head, _, content = process.stdout.partition(b"\r\n\r\n")
    fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
    return None if "Status" in fields else (fields["Content-Type"], content)


PORTS = {"ssh": 22, "git": 9418}
"""Of the remotes that git does not reach by HTTP, but through helper programs."""


class PortListener(socketserver.ThreadingTCPServer):
    """A port of one address. ``arrivals`` has the beginning of each connection, which is then closed."""

    def __init__(self, address: str, port: int) -> None:
        super().__init__((address, port), _Beginning)
        self.arrivals: list[str] = []


class _Beginning(socketserver.BaseRequestHandler):
    server: PortListener

    def handle(self) -> None:
        self.server.arrivals.append(self.request.recv(200).decode("latin-1") or "nothing")


class Visitor:
    """Has Ingot call names, as a person who owns a repository may."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """The JSON of an answer, whatever its status."""
        answer = self._client.request(method, f"api/v1/{path}", json=body)
        assert answer.status_code < 500, answer.text
        return answer.json() if answer.content else None

    def hook(self, name: str) -> list[str]:
        """Two deliveries to a webhook there, one after the other; how each first attempt ended."""
        self.ask("POST", "user/repos", {"name": name, "auto_init": True})
        config = {"url": f"http://{name}/hook", "content_type": "json"}
        hook = {"type": "gitea", "config": config, "events": ["issues"], "active": True}
        path = (
            f"repos/root/{name}/hooks/{self.ask('POST', f'repos/root/{name}/hooks', hook)['id']}/deliveries"
        )
        errors = []
        for count in (1, 2):
            self.ask("POST", f"repos/root/{name}/issues", {"title": "It creaks"})
            deliveries = self.wait(lambda: self.ask("GET", path), lambda rows, n=count: failed(rows) == n)
            errors.append(max(deliveries, key=lambda delivery: delivery["sequence"])["error"])
        return errors

    def copy(self, name: str, scheme: str = "http") -> list[str]:
        """Two imports from there; how each ended."""
        ends = []
        for number in (1, 2):
            copy = f"{scheme}-{name}-{number}"
            body = {"clone_addr": f"{scheme}://{name}/import.git", "repo_name": copy}
            answer = self.ask("POST", "repos/migrate", body)
            if "id" not in answer:
                ends.append(answer["message"])
                continue
            path = f"repos/root/{copy}/migration"
            ends.append(
                self.wait(lambda p=path: self.ask("GET", p), lambda state: state["finished_at"])["error"]
            )
        return ends

    def push(self, name: str) -> str:
        """A push mirror to there; how its first synchronization ended."""
        path = f"repos/root/{name}/push_mirrors"
        answer = self.ask("POST", path, {"remote_address": f"http://{name}/mirror.git", "interval": "8h"})
        if "remote_name" not in answer:
            return str(answer["message"])
        self.ask("POST", f"{path}-sync")
        return str(self.wait(lambda: self.ask("GET", path)[0]["last_error"], bool))

    def fetch_objects(self) -> list[str]:
        """An import with LFS for each of ``INNER_HOSTS``; how each ended."""
        ends = []
        for number in range(len(INNER_HOSTS)):
            remote = {"clone_addr": f"http://honest.example/{number}/source.git", "lfs": True}
            ends.append(
                self.ask("POST", "repos/migrate", remote | {"repo_name": f"objects-{number}"})["message"]
            )
        return ends

    def sync(self, names: NameServer, log: Callable[[], str]) -> str:
        """A mirror whose remote gets a private address after the import; how its next sync ended."""
        remote = {"clone_addr": f"http://{MOVING}/0/source.git", "repo_name": "mirror", "mirror": True}
        answer = self.ask("POST", "repos/migrate", remote)
        assert answer.get("empty") is False, answer
        names.moved = True
        self.ask("POST", "repos/root/mirror/mirror-sync")
        lines = self.wait(lambda: [line for line in log().splitlines() if "mirror not synced" in line], bool)
        return str(json.loads(lines[-1])["reason"])

    def wait(self, look: Any, is_there: Any) -> Any:
        deadline = time.monotonic() + PATIENCE
        while not is_there(value := look()):
            assert time.monotonic() < deadline, value
            time.sleep(0.05)
        return value


def failed(deliveries: list[dict[str, Any]]) -> int:
    return sum(bool(delivery["error"]) for delivery in deliveries)


def repository(folder: Path) -> Path:
    """One to be served by git, with a pointer of LFS."""
    folder.mkdir()
    git = ("git", "-C", str(folder), "-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{OBJECT}\nsize 3\n"
    (folder / "a.bin").write_text(pointer)
    for command in (
        ("init", "-q", "-b", "main"),
        ("add", "."),
        ("commit", "-qm", "x"),
    ):
        subprocess.run((*git, *command), check=True, capture_output=True)
    return folder / ".git"


def main(folder: Path) -> None:
    names, public = NameServer(), Listener(PUBLIC, repository(folder / "source"))
    private = [Listener(address) for address in PRIVATE]
    public_ports = {scheme: PortListener(PUBLIC, port) for scheme, port in PORTS.items()}
    private_ports = [PortListener(address, port) for address in PRIVATE for port in PORTS.values()]
    for server in (names, public, *private, *public_ports.values(), *private_ports):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    settings = {"INGOT_HOOKS_ALLOWED_TARGETS": "", "INGOT_REPOS_KNOWN_HOSTS": "any"}
    deployment = Standalone(folder, settings)
    with running(deployment), httpx.Client(base_url=deployment.url, auth=ADMINISTRATOR, timeout=60) as client:
        visitor = Visitor(client)
        ends = {name: [*visitor.hook(name), *visitor.copy(name), visitor.push(name)] for name in NAMES}
        copies = {scheme: {name: visitor.copy(name, scheme) for name in NAMES} for scheme in PORTS}
        objects = visitor.fetch_objects()
        sync = visitor.sync(names, lambda: deployment.logs()["ingot"])
    result = {
        "objects": objects,
        "sync": sync,
        "asked for": sorted(names.questions),
        "public": public.arrivals,
        "private": [arrival for one in (*private, *private_ports) for arrival in one.arrivals],
        "ports": {scheme: listener.arrivals for scheme, listener in public_ports.items()},
        "ends": ends,
        "copies": copies,
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
