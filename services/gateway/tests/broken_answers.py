"""Kinds of answers that a service may send: plain, and broken in ways that must reach no client as whole.

Outcomes:

- ``answered``: the client gets the answer of the service.
- ``bad-gateway``: the head is broken, so the client gets 502.
- ``broken``: the client gets 502, or a part of the answer and the end of its connection.
- ``surplus``: bytes follow a whole answer. The client gets the answer, or what it gets of a broken one.

After all but the first no other request may arrive on the connection to the service, and it must end.
"""

import random
from collections.abc import Callable
from typing import NamedTuple

from .byte_tap import SURPLUS_RESPONSE

FOREIGN = b"s0i0z"
"""A mark that no client has."""
REPEATS = (0, 1, 20, 400, 30_000)


class Answer(NamedTuple):
    """The bytes of an answer, and whether the service closes the connection after them."""

    data: bytes
    closes: bool = False


class Kind(NamedTuple):
    """A kind of answer. ``make`` gets the mark and the body.

    ``is_early``: the service answers before it has read the body of the request.
    """

    outcome: str
    make: Callable[[random.Random, bytes, bytes], Answer]
    is_early: bool = False


def answer_body(mark: bytes, repeats: int) -> bytes:
    """Return the body of an answer."""
    return mark + b"|" + mark * repeats


def head(mark: bytes, *lines: bytes, status: bytes = b"HTTP/1.1 200 OK") -> bytes:
    return b"\r\n".join([status, b"x-mark: " + mark, *lines, b"", b""])


def length(body: bytes) -> bytes:
    return b"Content-Length: %d" % len(body)


def in_chunks(rng: random.Random, body: bytes) -> bytes:
    """Return a body in chunks, without the last one."""
    parts = []
    while body:
        size = rng.choice((1, 7, 1000, 70_000)) if len(body) < 5000 else 70_000
        parts.append(b"%x\r\n%b\r\n" % (len(body[:size]), body[:size]))
        body = body[size:]
    return b"".join(parts)


CHUNKED = b"Transfer-Encoding: chunked"
END = b"0\r\n\r\n"
BROKEN_LENGTHS = (
    (b"Content-Length: %d", b"Content-Length: 1%d"),
    (b"Content-Length: %d", b"Content-Length: %d"),
    (b"Content-Length: %d", CHUNKED),
    (CHUNKED, b"Content-Length: %d"),
    (b"Content-Length: %d, %d",),
    (b"Content-Length: +%d",),
    (b"Content-Length: -%d",),
    (b"Content-Length: 0x%d",),
    (b"Content-Length: %d;",),
    (b"Content-Length: %d 1",),
    (b"Content-Length:",),
    (b"Content-Length: " + b"9" * 30,),
    (b"Transfer-Encoding: gzip, chunked",),
    (b"Transfer-Encoding: chunked, chunked",),
    (b"Transfer-Encoding: identity",),
    (b"Transfer-Encoding: chunked;x=y",),
    (CHUNKED, CHUNKED),
    (b"Transfer-Encoding: \tchunked", b"Content-Length: %d"),
)
BROKEN_HEADS = (
    b"HTTP/1.1 20 OK\r\n",
    b"HTTP/1.1 2000 OK\r\n",
    b"HTTP/2.0 200 OK\r\n",
    b"HTTP/1.2 200 OK\r\n",
    b"HTTP/0.9 200 OK\r\n",
    b"HTTQ/1.1 200 OK\r\n",
    b" HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 abc OK\r\n",
    b"GET / HTTP/1.1\r\n",
    b"HTTP/1.1 200 OK\r\nx-a : b\r\n",
    b"HTTP/1.1 200 OK\r\n x-a: b\r\n",
    b"HTTP/1.1 200 OK\r\nx-a: b\r\n folded\r\n",
    b"HTTP/1.1 200 OK\r\nx-a: b\0c\r\n",
    b"HTTP/1.1 200 OK\r\nx-\xc3\xa4: b\r\n",
    b"HTTP/1.1 200 OK\r\nno colon\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n",
    b"\0\0\0\0",
)
BROKEN_CHUNKS = (
    b"x\r\n%b\r\n",
    b"-1\r\n%b\r\n",
    b"+5\r\n%b\r\n",
    b"0x5\r\n%b\r\n",
    b" 5\r\n%b\r\n",
    b"\r\n%b\r\n",
    b"5%b\r\n",
    b"1\r\n%b\r\n",
    b"fffffffffffffffff\r\n%b\r\n",
    b"5\n%b\r\n",
)
TRAILERS = (
    b"0\r\nx-mark: " + FOREIGN + b"\r\n\r\n",
    b"0\r\nContent-Length: 9\r\n\r\n",
    b"0\r\nX-A: b\r\n\r\n",
)
INTERIM = (
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n",
    b"HTTP/1.1 102 Processing\r\nx-mark: " + FOREIGN + b"\r\n\r\n",
)
BROKEN_INTERIM = (
    b"HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n" + FOREIGN,
    b"HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n",
)


def _plain(rng: random.Random, mark: bytes, body: bytes) -> Answer:
    if rng.random() < 0.5:
        return Answer(head(mark, length(body)) + body)
    return Answer(head(mark, CHUNKED) + in_chunks(rng, body) + END)


def _interim(rng: random.Random, mark: bytes, body: bytes) -> Answer:
    interim = b"".join(rng.choice(INTERIM) for _ in range(rng.choice((1, 1, 2, 5))))
    return Answer(interim + _plain(rng, mark, body).data)


def _closed(rng: random.Random, mark: bytes, body: bytes) -> Answer:
    """Return a whole answer whose connection ends."""
    return Answer(head(mark, b"Connection: close", length(body)) + body, closes=rng.random() < 0.5)


def _silence(_rng: random.Random, _mark: bytes, _body: bytes) -> Answer:
    return Answer(b"", closes=True)


def _cut_head(rng: random.Random, mark: bytes, body: bytes) -> Answer:
    whole = head(mark, length(body))
    return Answer(whole[: rng.randrange(1, len(whole))], closes=True)


def _cut_body(rng: random.Random, mark: bytes, body: bytes) -> Answer:
    whole = _plain(rng, mark, body).data
    first = whole.index(b"\r\n\r\n") + 4
    return Answer(whole[: rng.randrange(first, len(whole))], closes=True)


def _interim_alone(rng: random.Random, _mark: bytes, _body: bytes) -> Answer:
    return Answer(rng.choice(INTERIM), closes=True)


def _broken_interim(rng: random.Random, mark: bytes, body: bytes) -> Answer:
    return Answer(rng.choice(BROKEN_INTERIM) + _plain(rng, mark, body).data)


def _without_length(rng: random.Random, mark: bytes, body: bytes) -> Answer:
    """Return a body that ends with the connection."""
    status = rng.choice((b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK"))
    return Answer(head(mark, status=status) + body, closes=True)


def _old_chunks(rng: random.Random, mark: bytes, body: bytes) -> Answer:
    return Answer(head(mark, CHUNKED, status=b"HTTP/1.0 200 OK") + in_chunks(rng, body) + END)


def _broken_length(rng: random.Random, mark: bytes, body: bytes) -> Answer:
    lines = [line.replace(b"%d", b"%d" % len(body)) for line in rng.choice(BROKEN_LENGTHS)]
    return Answer(head(mark, *lines) + body)


def _broken_head(rng: random.Random, mark: bytes, body: bytes) -> Answer:
    lines = b"x-mark: %b\r\n%b\r\n\r\n" % (mark, length(body))
    return Answer(rng.choice(BROKEN_HEADS) + lines + body)


def _endless_head(rng: random.Random, mark: bytes, body: bytes) -> Answer:
    field = rng.choice((b"x-a: " + b"a" * 600_000, b"\r\n".join([b"x-a: " + b"a" * 100] * 6000)))
    return Answer(head(mark, length(body), field) + body)


def _broken_chunk(rng: random.Random, mark: bytes, body: bytes) -> Answer:
    broken = rng.choice(BROKEN_CHUNKS).replace(b"%b", FOREIGN * 2)
    return Answer(head(mark, CHUNKED) + in_chunks(rng, body) + broken + END)


def _trailers(rng: random.Random, mark: bytes, body: bytes) -> Answer:
    return Answer(head(mark, CHUNKED) + in_chunks(rng, body) + rng.choice(TRAILERS))


def _two_answers(rng: random.Random, mark: bytes, body: bytes) -> Answer:
    return Answer(_plain(rng, mark, body).data + SURPLUS_RESPONSE)


def _surplus(rng: random.Random, mark: bytes, body: bytes) -> Answer:
    junk = rng.choice(
        (b"\0", b"x", FOREIGN, b"{}" * 50_000, END, b"HTTP/1.1 200", b"\r\n\r\n" + SURPLUS_RESPONSE)
    )
    return Answer(_plain(rng, mark, body).data + junk)


def _with_body(status: bytes) -> Callable[[random.Random, bytes, bytes], Answer]:
    """Return a maker of answers that end with their head, and have a body all the same."""
    return lambda _rng, mark, body: Answer(head(mark, status=status) + body)


KINDS = {
    "plain": Kind("answered", _plain),
    "interim": Kind("answered", _interim),
    "closed": Kind("answered", _closed),
    "early": Kind("answered", _plain, is_early=True),
    "silence": Kind("bad-gateway", _silence),
    "cut_head": Kind("bad-gateway", _cut_head),
    "cut_body": Kind("broken", _cut_body),
    "cut_early_body": Kind("broken", _cut_body, is_early=True),
    "interim_alone": Kind("bad-gateway", _interim_alone),
    "broken_interim": Kind("bad-gateway", _broken_interim),
    "without_length": Kind("bad-gateway", _without_length),
    "old_chunks": Kind("bad-gateway", _old_chunks),
    "broken_length": Kind("bad-gateway", _broken_length),
    "broken_head": Kind("bad-gateway", _broken_head),
    "endless_head": Kind("bad-gateway", _endless_head),
    "broken_chunk": Kind("broken", _broken_chunk),
    "trailers": Kind("broken", _trailers),
    "two_answers": Kind("surplus", _two_answers),
    "surplus": Kind("surplus", _surplus),
    "body_of_204": Kind("surplus", _with_body(b"HTTP/1.1 204 No Content")),
    "body_of_304": Kind("surplus", _with_body(b"HTTP/1.1 304 Not Modified")),
    "body_of_head": Kind("surplus", _plain),
}
