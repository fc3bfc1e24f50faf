"""Parses push requests before git receives them: ref updates, capabilities and options (`git push -o`)."""

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from ingot_git.process.bodies import replayed
from ingot_git.process.command import MIB
from ingot_git.process.errors import BodyRefused
from ingot_git.protocol.smart_http import pkt_line
from ingot_git.refs.refs import ZERO_OID, RefChange

_OLD_NEW_REF = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) ([^\0\n]+)(?:\0([^\n]*))?\n?")
_HEADER = 4
_FLUSH = b"0000"
_MAX_COMMANDS = 8 * MIB
# gitformat-pack(5): PACK, the version, the number of objects.
_PACK_HEAD, _COUNT_AT = 12, 8
_MOST_OPTIONS, _MAX_OPTIONS = 100, 256 * 1024


@dataclass(frozen=True, slots=True)
class Push:
    """A receive-pack request: its ref updates and options, and the whole body, which `serve` reads again."""

    commands: tuple[RefChange, ...]
    body: AsyncIterator[bytes]
    capabilities: bytes = b""
    options: tuple[str, ...] = ()
    object_count: int = 0
    """Objects in the pack, by its header. git adds the bases of deltas to the stored file."""
    _shallow: tuple[bytes, ...] = field(default=(), repr=False)
    _rest: AsyncIterator[bytes] | None = field(default=None, repr=False)

    @property
    def has_side_band(self) -> bool:
        """True if the response has packets of progress texts in addition to the report."""
        return b"side-band-64k" in self.capabilities.split(b" ")

    @property
    def shows_progress(self) -> bool:
        """True if the client shows progress texts."""
        return self.has_side_band and b"quiet" not in self.capabilities.split(b" ")

    def body_with(self, commands: Sequence[RefChange]) -> AsyncIterator[bytes]:
        """Return the body with other ref updates and no options. Read it instead of `body`."""
        lines = list(self._shallow)
        capabilities = b" ".join(one for one in self.capabilities.split(b" ") if one != b"push-options")
        for number, change in enumerate(commands):
            ids = f"{change.before} {change.after} ".encode()
            line = ids + change.name.encode("utf-8", "surrogateescape")
            lines.append(line if number else line + b"\0" + capabilities)
        head = b"".join(map(pkt_line, lines))
        assert self._rest is not None  # noqa: S101 - read_push_commands sets it
        return replayed(head + _FLUSH, self._rest)


async def read_push_commands(body: AsyncIterator[bytes]) -> Push:
    """Read the command list and options at the start of a receive-pack body (without gzip).

    gitprotocol-pack(5), "Reference Update Request": first shallow lines, then `old new ref` lines. The first
    line has the capabilities after a NUL. A flush-pkt ends the list. With the capability push-options, lines
    of options and another flush-pkt follow.

    So a push can be rejected before any object is received. A single flush-pkt, which clients send as a probe
    before a large push, has no commands.

    Raises:
        BodyRefused: the body does not start with such a list (for example a signed push). Or the list exceeds
            8 MiB, 100 options, or 256 KiB of options.
    """
    lines = _Lines(body)
    commands: list[RefChange] = []
    shallow: list[bytes] = []
    options: list[str] = []
    capabilities, option_bytes = b"", 0
    while (content := await lines.next()) is not None:
        if content.startswith(b"shallow "):
            shallow.append(content)
            continue
        change, offered = _parse_command(content)
        if not commands:
            capabilities = offered
        commands.append(change)
    if commands and b"push-options" in capabilities.split(b" "):
        while (content := await lines.next()) is not None:
            options.append(content.removesuffix(b"\n").decode("utf-8", "replace"))
            option_bytes += len(content)
            if len(options) > _MOST_OPTIONS or option_bytes > _MAX_OPTIONS:
                raise BodyRefused("too many or too long options in one push")
    has_pack = any(change.after != ZERO_OID for change in commands)
    head = await lines.peek(_PACK_HEAD) if has_pack else b""
    return Push(
        tuple(commands),
        replayed(bytes(lines.read), lines.stream),
        capabilities,
        tuple(options),
        int.from_bytes(head[_COUNT_AT:]),
        tuple(shallow),
        replayed(bytes(lines.read[lines.position :]), lines.stream),
    )


def end_of_packets(stream: bytearray) -> int | None:
    """Return the position after the first flush-pkt; None if it has not arrived. Raises BodyRefused."""
    position = 0
    while (line := _next_line(stream, position)) is not None:
        position += len(line)
        if line == _FLUSH:
            return position
    return None


class _Lines:
    """The pkt-lines at the start of a body.

    `read` has all bytes that were read, `position` is the end of the last line.
    """

    def __init__(self, body: AsyncIterator[bytes]) -> None:
        self.stream = aiter(body)
        self.read = bytearray()
        self.position = 0

    async def next(self) -> bytes | None:
        """Return the content of the next line; None for a flush-pkt. Raises BodyRefused."""
        while (line := _next_line(self.read, self.position)) is None:
            if len(self.read) > _MAX_COMMANDS:
                raise BodyRefused("too many ref updates in one push")
            chunk = await anext(self.stream, None)
            if chunk is None:
                raise BodyRefused("the push request is incomplete")
            self.read.extend(chunk)
        self.position += len(line)
        return None if line == _FLUSH else line[_HEADER:]

    async def peek(self, length: int) -> bytes:
        """Return up to ``length`` of the next bytes; fewer only at the end of the body."""
        while (
            len(self.read) < self.position + length and (chunk := await anext(self.stream, None)) is not None
        ):
            self.read.extend(chunk)
        return bytes(self.read[self.position : self.position + length])


def _parse_command(content: bytes) -> tuple[RefChange, bytes]:
    match = _OLD_NEW_REF.fullmatch(content)
    if match is None:
        raise BodyRefused("not a ref update")
    before, after, name, capabilities = match.groups()
    change = RefChange(name.decode("utf-8", "surrogateescape"), before.decode(), after.decode())
    return change, capabilities or b""


def _next_line(head: bytearray, position: int) -> bytes | None:
    """Return the pkt-line at `position` with its header; None while it is incomplete.

    Raises BodyRefused.
    """
    header = bytes(head[position : position + _HEADER])
    if len(header) < _HEADER:
        return None
    if header == _FLUSH:
        return header
    if re.fullmatch(rb"[0-9a-fA-F]{4}", header) is None or (length := int(header, 16)) <= _HEADER:
        raise BodyRefused("not a pkt-line")
    line = bytes(head[position : position + length])
    return line if len(line) == length else None
