"""Forms of a request head and of chunks.

Plain ones, ones that must be rejected, and ones that may be either.
"""

from typing import NamedTuple


class Variant(NamedTuple):
    """A form of a head. ``framing`` replaces the plain framing.

    In it {n}, {x} and {big} are sizes of the body.

    ``body`` says how the body is written under such a framing: ``plain`` or ``chunks``. ``is_ordered``: the
    headers stand in this order, Host first.
    """

    headers: tuple[str, ...] = ()
    framing: tuple[str, ...] = ()
    body: str = "plain"
    line: str = "{method} {target} HTTP/1.1"
    line_end: str = "\r\n"
    has_host: bool = True
    is_ordered: bool = False
    ends_connection: bool = False


def _headers(*lines: str) -> tuple[Variant, ...]:
    return tuple(Variant(headers=(line,)) for line in lines)


def _lengths(*values: str) -> tuple[Variant, ...]:
    return tuple(Variant(framing=(f"Content-Length:{value}",)) for value in values)


def _codings(*values: str) -> tuple[Variant, ...]:
    return tuple(Variant(framing=(f"Transfer-Encoding:{value}",), body="chunks") for value in values)


def _lines(*lines: str, framing: tuple[str, ...] = ()) -> tuple[Variant, ...]:
    return tuple(Variant(line=line, framing=framing) for line in lines)


CONNECTION_UPGRADES = (
    "Upgrade",
    "upgrade",
    "keep-alive, Upgrade",
    "upgrade,close",
    "UPGRADE , x",
    "keep-alive",
)
UPGRADES = ("h2c", "websocket", "HTTP/2.0", "TLS/1.0", "", "x, y")
LENGTH, CHUNKS = "Content-Length: {n}", "Transfer-Encoding: chunked"

PLAIN_HEADS = {
    "connection_options": _headers(
        *("Connection: keep-alive", "Connection: content-length", "Connection: transfer-encoding, host"),
        *("Connection: x-other, keep-alive", "Connection:", "Connection: ,", "Connection: x-forwarded-for"),
    ),
    "connection_headers": _headers(
        *("Keep-Alive: timeout=5", "TE: trailers", "Trailer: x-end", "Proxy-Connection: keep-alive"),
        "Trailer: content-length",
    ),
    "odd_values": _headers(
        "x-other:", "x-other: \xff\xe9", 'x-other: "a, b', "x-other:\t a\tb \t", "x-a'!#$%&*+^_`|~: b"
    ),
    "absolute_target": _lines(
        "{method} http://ingot.test{target} HTTP/1.1", "{method} http://other.test:81{target} HTTP/1.1"
    ),
    "length_with_zeros": _lengths(" 0{n}", " 000000000000{n}", "\t{n}\t", "{n}"),
    "coding_in_case": _codings(" Chunked", " CHUNKED", "\tchunked  ", "chunked"),
    "version_10": (
        Variant(line="{method} {target} HTTP/1.0", ends_connection=True),
        Variant(line="{method} {target} HTTP/1.0", framing=(LENGTH,), ends_connection=True),
        Variant(line="{method} {target} HTTP/1.0", has_host=False, ends_connection=True),
        Variant(line="{method} {target} HTTP/1.0", headers=("Connection: keep-alive",), ends_connection=True),
    ),
    "blank_line_before": _lines("\r\n{method} {target} HTTP/1.1", "\r\n\r\n{method} {target} HTTP/1.1"),
}

HEAD_VARIANTS = {
    "same_lengths": (Variant(framing=(LENGTH, LENGTH)), Variant(framing=(LENGTH, "CONTENT-LENGTH:{n}"))),
    "conflicting_lengths": (
        Variant(framing=(LENGTH, "Content-Length: 0")),
        Variant(framing=("Content-Length: 0", LENGTH)),
        Variant(framing=(LENGTH, "content-length: 1{n}")),
    ),
    "listed_lengths": _lengths(" {n}, {n}", " {n},", " 0, {n}", " ,{n}", " {n},0"),
    "signed_lengths": _lengths(" +{n}", " -{n}", " -1", " - {n}"),
    "odd_lengths": _lengths(
        " 0x{x}", " {n}.0", " {n} 0", " {n};", ' "{n}"', " {n}a", " 1e2", " \xb2", " 1_0", "\x0b{n}"
    ),
    "overflowing_length": _lengths(" {big}", " 99999999999999999999999{n}", " 18446744073709551616"),
    "empty_length": _lengths("", " ", "\t"),
    "length_and_chunks": (
        *(Variant(framing=lines, body="chunks") for lines in ((LENGTH, CHUNKS), (CHUNKS, LENGTH))),
        *(Variant(framing=lines) for lines in ((LENGTH, CHUNKS), (CHUNKS, LENGTH))),
        Variant(framing=("Content-Length: 0", CHUNKS), body="chunks"),
        Variant(framing=(CHUNKS, "Connection: content-length", LENGTH), body="chunks"),
        Variant(framing=(CHUNKS, "Connection: transfer-encoding", LENGTH)),
        Variant(framing=("Transfer-Encoding: identity", LENGTH)),
    ),
    "codings_twice": (
        Variant(framing=(CHUNKS, CHUNKS), body="chunks"),
        Variant(framing=(CHUNKS, "Transfer-Encoding: identity"), body="chunks"),
        Variant(framing=("Transfer-Encoding: gzip", CHUNKS), body="chunks"),
        Variant(framing=(CHUNKS, "transfer-encoding:"), body="chunks"),
    ),
    "listed_codings": _codings(
        " chunked, chunked",
        " gzip, chunked",
        " chunked, identity",
        " identity, chunked",
        " ,chunked",
        " chunked,",
    ),
    "foreign_codings": _codings(
        *(" identity", " gzip", " x", " chunked;q=1", " xchunked", " chunkedx", ' "chunked"', "\x0bchunked"),
        *(" chunk", " chunked\x00", "", " ", " chunked chunked", " \xa0chunked"),
    ),
    "coding_before_tab": _codings(" chunked\t", " chunked \t"),
    "chunks_in_version_10": (Variant(line="{method} {target} HTTP/1.0", framing=(CHUNKS,), body="chunks"),),
    "upgrade_without_body": tuple(
        Variant(headers=(f"Connection: {connection}", f"Upgrade: {protocol}"))
        for connection in CONNECTION_UPGRADES
        for protocol in UPGRADES
    ),
    "upgrade_with_length": tuple(
        Variant(framing=(LENGTH, f"Connection: {connection}", f"Upgrade: {UPGRADES[0]}"))
        for connection in CONNECTION_UPGRADES
    ),
    "upgrade_with_chunks": tuple(
        Variant(framing=(CHUNKS, f"Connection: {connection}", f"Upgrade: {UPGRADES[1]}"), body="chunks")
        for connection in CONNECTION_UPGRADES
    ),
    "space_before_colon": (
        Variant(framing=("Content-Length : {n}",)),
        Variant(framing=("Transfer-Encoding : chunked",), body="chunks"),
        Variant(framing=(LENGTH, "Transfer-Encoding\t: chunked")),
        *_headers("x-other : x", "x-other\t: x"),
    ),
    "no_header_name": _headers(": x", "nothing", "x other: x", "(x): y", "x\xe9: y", "\x7f: x"),
    "control_bytes": _headers(
        "x-other: a\x00b",
        "x-other: a\x01b",
        "x-other: a\x7fb",
        "x-\x00: a",
        "x-other: \x08",
        "x-other: a\x1bb",
    ),
    "bare_cr": _headers("x-other: a\rb", "x-other: a\rContent-Length: 3", "x-other: a\r\rb", "x\r-other: a"),
    "missing_host": (Variant(has_host=False), Variant(has_host=False, framing=(LENGTH,))),
    "duplicate_host": _headers("Host: other.test", "host: ingot.test", "HOST:"),
    "invalid_host": tuple(
        Variant(headers=(f"Host: {value}",), has_host=False)
        for value in ("a b", "a, b", "a/b", "a@b", "\xff")
    ),
    "folded": tuple(
        Variant(headers=(line,))
        for line in ("x-other: a\r\n b", "x-other: a\r\n\tContent-Length: 5", "x-other:\r\n b")
    ),
    "folded_framing": (
        Variant(framing=("Content-Length:\r\n {n}",)),
        Variant(framing=("Transfer-Encoding:\r\n chunked",), body="chunks"),
        Variant(framing=("Transfer-Encoding: chunked\r\n x",), body="chunks"),
        Variant(framing=("Content-Length: {n}\r\n 0",)),
    ),
    "line_feeds": (
        Variant(line_end="\n"),
        Variant(line_end="\n", framing=(LENGTH,)),
        Variant(line_end="\n", framing=(CHUNKS,), body="chunks"),
        Variant(headers=("x-other: a\nx-more: b",)),
        Variant(framing=("x-other: a\nContent-Length: {n}",)),
    ),
    "folded_first_header": (
        Variant(headers=(" x: y",), is_ordered=True, line="{method} {target} HTTP/1.1\r\n x: y"),
    ),
}

REQUEST_LINES = {
    "connect": (
        *_lines("CONNECT ingot.test:443 HTTP/1.1", "CONNECT {target} HTTP/1.1"),
        *_lines("CONNECT ingot.test:443 HTTP/1.1", framing=(LENGTH,)),
        *_lines("CONNECT ingot.test:443 HTTP/1.0", framing=("Content-Length: 1{n}",)),
    ),
    "lowercase_method": _lines("get {target} HTTP/1.1", "Post {target} HTTP/1.1", framing=(LENGTH,)),
    "invalid_method": _lines(
        *("G@T {target} HTTP/1.1", " {target} HTTP/1.1", "GETT {target} HTTP/1.1", "POST\t{target} HTTP/1.1"),
        *("\x16\x03\x01 {target} HTTP/1.1", "P,ST {target} HTTP/1.1", "PRI * HTTP/2.0"),
    ),
    "invalid_version": _lines(
        *("{method} {target} HTTP/0.9", "{method} {target} HTTP/2.0", "{method} {target} HTTP/1.2"),
        *("{method} {target} HTTP/11.1", "{method} {target} HTTP/1.1x", "{method} {target} http/1.1"),
        *("{method} {target} HTTP/1.10", "{method} {target} HTTP/3.0", "{method} {target} HTTP/1"),
        *("{method} {target} HTTP/+1.1", "{method} {target} HTTP/1,1", "{method} {target} HTTP /1.1"),
        *("{method} {target} SIP/2.0", "{method} {target} HTTPS/1.1"),
    ),
    "no_version": _lines("{method} {target}", "{method} {target} "),
    "invalid_target": _lines(
        *("{method} {target} x HTTP/1.1", "{method} x{target} HTTP/1.1", "{method}  HTTP/1.1"),
        *("{method} {target}\x00 HTTP/1.1", "{method} {target}\x7f HTTP/1.1"),
    ),
}

LENIENT_HEADS = {
    # The parser of the server reads these as the same versions of HTTP.
    "foreign_protocol": _lines(
        "{method} {target} RTSP/1.0", "{method} {target} RTSP/1.1", "{method} {target} ICE/1.0"
    ),
    "odd_target": _lines(
        *("{method}  {target} HTTP/1.1", "{method} {target}  HTTP/1.1", "{method} {target}#x HTTP/1.1"),
        *(
            "{method} {target}&\xe9 HTTP/1.1",
            "{method} https://a@b{target} HTTP/1.1",
            "{method} /{target} HTTP/1.1",
        ),
    ),
}

PLAIN_CHUNKS = {
    "chunk_extensions": (
        b"{x};a\r\n{d}\r\n0\r\n\r\n",
        b"{x};a=b;c=d\r\n{d}\r\n0;last\r\n\r\n",
        b'{x};a="b c"\r\n{d}\r\n0\r\n\r\n',
        b'{x};a="\\"b"\r\n{d}\r\n0;z="y"\r\n\r\n',
    ),
    "chunk_sizes": (
        b"{X}\r\n{d}\r\n0\r\n\r\n",
        b"000{x}\r\n{d}\r\n00000\r\n\r\n",
        b"00{X}\r\n{d}\r\n000\r\n\r\n",
    ),
}

BROKEN_CHUNKS = {
    "invalid_chunk_size": tuple(
        size + b"\r\n{d}\r\n0\r\n\r\n"
        for size in (
            b"-{x}",
            b"+{x}",
            b"0x{x}",
            b"g",
            b"",
            b"{x}g",
            b" {x}",
            b"{x},{x}",
            b"\x00{x}",
            b"{x} {x}",
            b"\n{x}",
        )
    ),
    "overlong_chunk_size": (
        b"fffffffffffffffff\r\n{d}\r\n0\r\n\r\n",
        b"1000000000000000{x}\r\n{d}\r\n0\r\n\r\n",
        b"10000000000000000000000000000000{x}\r\n{d}\r\n0\r\n\r\n",
    ),
    "small_chunk_size": (b"1\r\n{d}\r\n0\r\n\r\n", b"5\r\n{d}\r\n0\r\n\r\n"),
    "missing_chunk_end": (
        b"{x}\r\n{d}0\r\n\r\n",
        b"{x}\r\n{d}\n0\r\n\r\n",
        b"{x}\r\n{d}xx0\r\n\r\n",
        b"{x}\r\n{d}\r0\r\n\r\n",
    ),
    "chunk_line_ends": (b"{x}\n{d}\r\n0\r\n\r\n", b"{x}\r{d}\r\n0\r\n\r\n", b"{x};a\n{d}\r\n0\r\n\r\n"),
    "broken_extensions": (
        b"{x};a\x00\r\n{d}\r\n0\r\n\r\n",
        b"{x};a\rb\r\n{d}\r\n0\r\n\r\n",
        b"{x}a=b\r\n{d}\r\n0\r\n\r\n",
    ),
}

TRAILERS = {
    "trailers": tuple(
        b"{x}\r\n{d}\r\n0\r\n" + trailer + b"\r\n\r\n"
        for trailer in (b"x-end: 1", b"x-mark: s0i0z", b"x-end:", b"X: y\r\nZ: w")
    ),
    "framing_trailers": tuple(
        b"{x}\r\n{d}\r\n0\r\n" + trailer + b"\r\n\r\n"
        for trailer in (
            b"Content-Length: 5",
            b"Transfer-Encoding: chunked",
            b"Host: x",
            b"Upgrade: h2c",
            b"Connection: close",
        )
    ),
}
