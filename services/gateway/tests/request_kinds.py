"""Kinds of requests: for each kind the requests, and the bytes after them, with which a connection ends."""

from collections.abc import Callable

from .raw_requests import Attempt, Sender
from .raw_variants import (
    BROKEN_CHUNKS,
    HEAD_VARIANTS,
    LENIENT_HEADS,
    PLAIN_CHUNKS,
    PLAIN_HEADS,
    REQUEST_LINES,
    TRAILERS,
    Variant,
)

LARGE_SIZES = (65_535, 65_536, 65_537, 200_000)
RARE_METHODS = ("PROPFIND", "REPORT", "MKCOL", "SEARCH", "PURGE", "TRACE", "M-SEARCH", "LOCK")

Maker = Callable[[Sender], list[Attempt]]
MAKERS: dict[str, Maker] = {}
"""For each kind the attempts at the end of a connection."""


def _register() -> None:
    def of_heads(kind: str, outcome: str, variants: tuple[Variant, ...]) -> Maker:
        def make(sender: Sender) -> list[Attempt]:
            variant = sender.rng.choice(variants)
            closes = variant.ends_connection or outcome == "lenient"
            attempt = sender.request(
                kind,
                outcome,
                variant=variant,
                close=outcome == "lenient",
                do="" if outcome == "answered" else sender.rng.choice(("echo", "early")),
                framing="length" if "HTTP/1.0" in variant.line else "",
            )
            attempt.ends_connection = closes
            return [attempt]

        return make

    def of_chunks(kind: str, outcome: str, templates: tuple[bytes, ...]) -> Maker:
        return lambda sender: [sender.chunked_request(kind, outcome, sender.rng.choice(templates))]

    for kind, variants in PLAIN_HEADS.items():
        MAKERS[kind] = of_heads(kind, "answered", variants)
    for kind, variants in (*HEAD_VARIANTS.items(), *REQUEST_LINES.items()):
        MAKERS[kind] = of_heads(kind, "rejected", variants)
    for kind, variants in LENIENT_HEADS.items():
        MAKERS[kind] = of_heads(kind, "lenient", variants)
    for kind, templates in PLAIN_CHUNKS.items():
        MAKERS[kind] = of_chunks(kind, "answered", templates)
    for kind, templates in (*BROKEN_CHUNKS.items(), *TRAILERS.items()):
        MAKERS[kind] = of_chunks(kind, "rejected", templates)


def _maker(make: Maker) -> Maker:
    MAKERS[make.__name__.lstrip("_")] = make
    return make


@_maker
def _plain(sender: Sender) -> list[Attempt]:
    return [sender.request("plain")]


@_maker
def _large_body(sender: Sender) -> list[Attempt]:
    size = sender.rng.choice(LARGE_SIZES)
    framing = sender.rng.choice(("length", "chunks"))
    return [sender.request("large_body", method="POST", size=size, framing=framing)]


@_maker
def _rare_method(sender: Sender) -> list[Attempt]:
    return [sender.request("rare_method", method=sender.rng.choice(RARE_METHODS))]


@_maker
def _broken_after_answer(sender: Sender) -> list[Attempt]:
    """Return a request whose body is broken after its response was sent: no other response may follow."""
    template = sender.rng.choice(sender.rng.choice((*BROKEN_CHUNKS.values(), *TRAILERS.values())))
    attempt = sender.chunked_request("broken_after_answer", "lenient", template, do="early")
    attempt.pause, attempt.ends_connection = attempt.head_size, True
    return [attempt, Attempt("ignored", "ignored", data=sender.inner())]


@_maker
def _surplus_response(sender: Sender) -> list[Attempt]:
    """Return requests to which the service sends a response too many."""
    return [
        sender.request("surplus_response", do=sender.rng.choice(("surplus", "surplus_chunks")))
        for _ in range(2)
    ]


@_maker
def _surplus_behind_fetch(sender: Sender) -> list[Attempt]:
    """Return a fetch of git, whose response bypasses the gateway, with a response too many behind it."""
    path = "/ann/app/git-upload-pack"
    return [sender.request("surplus_behind_fetch", method="POST", size=100, do="surplus_chunks", path=path)]


@_maker
def _asterisk(sender: Sender) -> list[Attempt]:
    variant = Variant(line="OPTIONS * HTTP/1.1")
    attempt = sender.request("asterisk", variant=variant, method="OPTIONS", do="echo", framing="length")
    attempt.target = b"*"
    return [attempt]


@_maker
def _pipelined(sender: Sender) -> list[Attempt]:
    return [sender.request("pipelined") for _ in range(sender.rng.randrange(2, 5))]


@_maker
def _early_answer(sender: Sender) -> list[Attempt]:
    return [
        _early(sender, "early_answer", "chunks", sender.rng.choice((100, 100, 3000, 3000, 65_537, 200_000)))
    ]


@_maker
def _early_answer_before_body(sender: Sender) -> list[Attempt]:
    """Return a request whose client sends the rest of the body, or all of it, after the response."""
    framing = sender.rng.choice(("length", "chunks", "chunks"))
    size = 65_537 if framing == "length" else sender.rng.choice((100, 100, 3000, 65_537))
    attempt = _early(sender, "early_answer_before_body", framing, size)
    attempt.pause = attempt.head_size + sender.rng.choice(
        (0, sender.rng.randrange(len(attempt.data) - attempt.head_size))
    )
    return [attempt]


def _early(sender: Sender, kind: str, framing: str, size: int) -> Attempt:
    return sender.request(kind, method="POST", size=size, do="early", framing=framing)


@_maker
def _refused(sender: Sender) -> list[Attempt]:
    """Return a request that the gateway answers without its body: too many headers, or no such path."""
    extra = tuple(f"x-{number}: y" for number in range(101))
    if sender.rng.random() < 0.5:
        many = Variant(headers=extra)
        return [sender.request("refused", "refused", variant=many, method="POST", size=300, framing="length")]
    path = "/internal/x"
    return [sender.request("refused", "refused", method="POST", size=300, framing="chunks", path=path)]


@_maker
def _expect(sender: Sender) -> list[Attempt]:
    """Return a request whose body waits for 100 Continue."""
    return [_expecting(sender, "expect", ("100-continue", "100-Continue"))]


@_maker
def _expect_refused(sender: Sender) -> list[Attempt]:
    """Return a request whose body is refused before it is sent, and another request in place of the body."""
    variant = Variant(headers=("Expect: 100-continue",))
    framing, path = sender.rng.choice(("length", "chunks")), "/internal/x"
    attempt = sender.request(
        "expect_refused", "refused", variant=variant, method="POST", size=300, framing=framing, path=path
    )
    attempt.data, attempt.ends_connection = attempt.data[: attempt.head_size], True
    return [attempt, Attempt("ignored", "ignored", data=sender.inner())]


@_maker
def _expect_without_wait(sender: Sender) -> list[Attempt]:
    return [_expecting(sender, "expect_without_wait", ("100-continue", "other", "100-continue, other"))]


def _expecting(sender: Sender, kind: str, values: tuple[str, ...]) -> Attempt:
    variant = Variant(headers=(f"Expect: {sender.rng.choice(values)}",))
    framing = sender.rng.choice(("length", "chunks"))
    size = sender.rng.choice((10, 100, 3000, 65_537))
    return sender.request(kind, variant=variant, method="POST", size=size, framing=framing, do="echo")


@_maker
def _body_without_length(sender: Sender) -> list[Attempt]:
    """Return a request without a body and bytes that a reader could take for its body."""
    request = sender.request("body_without_length", method="POST", size=0, framing="none")
    return [request, _surplus(sender)]


@_maker
def _surplus_behind_length(sender: Sender) -> list[Attempt]:
    request = sender.request("surplus_behind_length", method="POST", size=10, framing="length")
    return [request, _surplus(sender)]


@_maker
def _surplus_behind_chunks(sender: Sender) -> list[Attempt]:
    request = sender.request("surplus_behind_chunks", method="POST", size=10, framing="chunks")
    return [request, _surplus(sender)]


def _surplus(sender: Sender) -> Attempt:
    junk = sender.rng.choice(
        (b"\x00", b"{}", b"0\r\n\r\n", b"=" * 50, b"x\r\n" + sender.inner(), b" GET / HTTP/1.1\r\n\r\n")
    )
    return Attempt("surplus", "rejected", data=junk, ends_connection=True)


@_maker
def _after_close(sender: Sender) -> list[Attempt]:
    """Return a last request, and a request after it (RFC 9112, section 9.3)."""
    last = sender.request("after_close", close=True)
    return [last, Attempt("ignored", "ignored", data=sender.inner())]


@_maker
def _after_version_10(sender: Sender) -> list[Attempt]:
    old = Variant(line="{method} {target} HTTP/1.0")
    last = sender.request("after_version_10", variant=old, framing="length")
    last.ends_connection = True
    return [last, Attempt("ignored", "ignored", data=sender.inner())]


@_maker
def _truncated(sender: Sender) -> list[Attempt]:
    size = sender.rng.choice((0, 10, 100, 1000, 3000, 65_537))
    attempt = sender.request("truncated", "cut", method="POST", size=size)
    attempt.data = attempt.data[: sender.rng.randrange(len(attempt.data))]
    return [attempt]


@_maker
def _wrong_chunk_size(sender: Sender) -> list[Attempt]:
    """Return a chunk that is larger than its data, so the end of the message is a part of it."""
    attempt = sender.chunked_request("wrong_chunk_size", "cut", b"fffff\r\n{d}\r\n0\r\n\r\n" + sender.inner())
    return [attempt]


@_maker
def _too_long_length(sender: Sender) -> list[Attempt]:
    """Return a request whose Content-Length also covers the request after it."""
    variant = Variant(framing=("Content-Length: 1{n}00",))
    attempt = sender.request("too_long_length", "cut", variant=variant, do="echo")
    attempt.data += sender.inner()
    return [attempt]


@_maker
def _aborted(sender: Sender) -> list[Attempt]:
    """Return a whole request whose client does not wait for the answer."""
    return [sender.request("aborted", size=sender.rng.choice((0, 10, 100, 3000)))]


_register()
KINDS = tuple(sorted(MAKERS))
