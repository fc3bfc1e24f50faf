"""Requests of hostile and plain clients, as bytes, and the outcome that each must have.

Each request has a mark of its sender in its target, in ``x-mark`` and in its body. A body may contain a whole
request whose mark has an ``i``: such an inner request must never be executed.
"""

import random
from dataclasses import dataclass

from .raw_variants import Variant

SIZES = (0, 1, 10, 10, 100, 100, 100, 100, 500, 500, 1000, 3000)
DEEDS = (
    "echo",
    "echo",
    "echo",
    "chunks",
    "chunks",
    "early",
    "nothing",
    "unchanged",
    "error",
    "close",
    "large",
)
METHODS = ("GET", "GET", "GET", "HEAD", "OPTIONS", "DELETE", "POST", "POST", "POST", "PUT", "PATCH")
PATHS = (
    "/api/v1/repos/ann/app",
    "/api/v1/repos/ann/app",
    "/api/v1/repos/ann/app/issues",
    "/ann/app/git-upload-pack",
    "/ann/app/git-receive-pack",
    "/ann/app",
)
HOST = "Host: ingot.test"


@dataclass(slots=True)
class Attempt:
    """One request, or bytes that are no request.

    Outcomes:

    - ``answered``: by the service.
    - ``refused``: by the gateway, and the connection stays open.
    - ``rejected``: by the gateway, and the connection is closed.
    - ``lenient``: answered or rejected.
    - ``cut``: the end of the request is never sent.
    - ``ignored``: sent after the last request of the connection.
    """

    kind: str
    outcome: str
    mark: bytes = b""
    method: str = "GET"
    target: bytes = b""
    do: str = "echo"
    body: bytes = b""
    data: bytes = b""
    ends_connection: bool = False
    head_size: int = 0
    pause: int = 0
    """After so many bytes the client waits for the response before it sends the rest.

    0: it sends everything.
    """


class Sender:
    """Makes the requests of one client."""

    def __init__(self, number: int, rng: random.Random) -> None:
        self.number, self.rng = number, rng
        self._count = 0

    def _next_mark(self) -> str:
        self._count += 1
        return f"s{self.number}r{self._count}z"

    def inner(self) -> bytes:
        """Return a request that must never be executed."""
        mark = f"s{self.number}i{self._count}z"
        line = f"GET /api/v1/repos/ann/app?do=echo&m={mark} HTTP/1.1"
        return f"{line}\r\n{HOST}\r\nx-mark: {mark}\r\n\r\n".encode()

    def _body(self, mark: str, size: int) -> bytes:
        body = (mark * (size // len(mark) + 1))[:size].encode()
        if size >= 100 and self.rng.random() < 0.3:
            inner = self.inner()
            body = (inner + body)[: max(size, len(inner))]
        return body

    def request(
        self,
        kind: str,
        outcome: str = "answered",
        *,
        variant: Variant = Variant(),  # noqa: B008 - it cannot be changed
        method: str = "",
        size: int | None = None,
        do: str = "",
        framing: str = "",
        close: bool = False,
        path: str = "",
    ) -> Attempt:
        """Return a request in the form of ``variant``, whose framing replaces a plain one."""
        rng = self.rng
        mark = self._next_mark()
        has_framing = bool(variant.framing)
        method = method or (rng.choice(("POST", "PUT", "PATCH")) if has_framing else rng.choice(METHODS))
        do = do or rng.choice(DEEDS)
        if close and do == "early":
            do = "echo"  # a server that answers early and closes may reset a client that is still sending
        if size is None:
            size = rng.choice(SIZES) if has_framing or method not in ("GET", "HEAD", "OPTIONS") else 0
        body = self._body(mark, size)
        target = f"{path or rng.choice(PATHS)}?do={do}&m={mark}"
        framing = framing or ("none" if not body and rng.random() < 0.7 else rng.choice(("length", "chunks")))
        chunks = chunked(rng, body)
        lines = [f"x-mark: {mark}", *variant.headers]
        if has_framing:
            wire = chunks if variant.body == "chunks" else body
            lines += [
                line.format(n=len(body), x=f"{len(body):x}", big=2**64 + len(body))
                for line in variant.framing
            ]
        elif framing == "length":
            wire = body
            lines.append(f"Content-Length: {len(body)}")
        elif framing == "chunks":
            wire = chunks
            lines.append(rng.choice(("Transfer-Encoding: chunked", "transfer-encoding:chunked")))
        else:
            wire = body = b""
        if close:
            lines.append("Connection: close")
        if not variant.is_ordered:
            rng.shuffle(lines)
        if variant.has_host:
            lines.insert(0 if variant.is_ordered else rng.randrange(len(lines) + 1), HOST)
        line = variant.line.format(method=method, target=target)
        head = variant.line_end.join([line, *lines, "", ""]).encode("latin-1")
        return Attempt(
            kind, outcome, mark.encode(), method, target.encode(), do, body, head + wire, close, len(head)
        )  # fmt: skip

    def chunked_request(self, kind: str, outcome: str, template: bytes, *, do: str = "echo") -> Attempt:
        """Return a chunked request whose wire body is the template, filled with the size and the data."""
        attempt = self.request(
            kind, outcome, method="POST", size=self.rng.choice((12, 100, 300)), do=do, framing="chunks"
        )
        wire = template.replace(b"{x}", b"%x" % len(attempt.body)).replace(b"{d}", attempt.body)
        attempt.data = attempt.data[: attempt.head_size] + wire.replace(b"{X}", b"%X" % len(attempt.body))
        return attempt


def chunked(rng: random.Random, body: bytes) -> bytes:
    """Return the body in chunks of random sizes, all in the plainest form."""
    parts = []
    while body:
        size = rng.choice((1, 7, 100, len(body), len(body), 70_000))
        if len(body) > 5000 and size < 5000:
            size = 5000
        parts.append(b"%x\r\n%b\r\n" % (len(body[:size]), body[:size]))
        body = body[size:]
    return b"".join([*parts, b"0\r\n\r\n"])
