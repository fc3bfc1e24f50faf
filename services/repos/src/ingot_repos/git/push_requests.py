"""What a push asks for: ref updates, capabilities and options (`git push -o`), read before git gets them."""

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from ingot_repos.git.command import MIB
from ingot_repos.git.errors import BodyRefused
from ingot_repos.git.refs import ZERO_OID, RefChange
from ingot_repos.git.smart_http import pkt_line

_OLD_NEW_REF = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) ([^\0\n]+)(?:\0([^\n]*))?\n?")
_HEADER = 4
_FLUSH = b"0000"
_MAX_COMMANDS = 8 * MIB
# gitformat-pack(5): PACK, the version, the number of objects.
_PACK_HEAD, _COUNT_AT = 12, 8
_MOST_OPTIONS, _MAX_OPTIONS = 100, 256 * 1024


@dataclass(frozen=True, slots=True)
class Push:
    """A receive-pack request: its ref updates, what is behind them, and the whole body again for `serve`."""

    commands: tuple[RefChange, ...]
    body: AsyncIterator[bytes]
    capabilities: bytes = b""
    options: tuple[str, ...] = ()
    object_count: int = 0
    """What the pack holds, by its head; git adds to the file those on which the client has built."""
    _shallow: tuple[bytes, ...] = field(default=(), repr=False)
    _rest: AsyncIterator[bytes] | None = field(default=None, repr=False)

    @property
    def has_side_band(self) -> bool:
        """Whether the answer has packets of texts for people beside the report."""
        return b"side-band-64k" in self.capabilities.split(b" ")

    def body_with(self, commands: Sequence[RefChange]) -> AsyncIterator[bytes]:
        """The body with other ref updates and without the options; instead of `body`, which is not read then."""
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
    """Read the command list at the start of a receive-pack body (without gzip), up to its flush-pkt, and the options.

    gitprotocol-pack, "Reference Update Request": shallow lines, then `old new ref` lines, the first with
    capabilities behind a NUL, then a flush-pkt; with the capability push-options lines of options and another one.
    So a push can be refused before any object is received. A flush-pkt alone, which clients send as a probe before a
    large push, gives no commands.

    Raises:
        BodyRefused: the body does not start with such a list (as for signed pushes), or the list exceeds 8 MiB, or there
            are more than 100 options or 256 KiB of them.
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
    """Where the bytes behind the first flush-pkt begin; None while it has not come. Raises BodyRefused."""
    position = 0
    while (line := _next_line(stream, position)) is not None:
        position += len(line)
        if line == _FLUSH:
            return position
    return None


async def replayed(head: bytes, rest: AsyncIterator[bytes] | None = None) -> AsyncIterator[bytes]:
    """A body of which `head` was read already."""
    if head:
        yield head
    if rest is not None:
        async for chunk in rest:
            yield chunk


class _Lines:
    """The pkt-lines at the start of a body; `read` is all that was taken from it, `position` the end of the last line."""

    def __init__(self, body: AsyncIterator[bytes]) -> None:
        self.stream = aiter(body)
        self.read = bytearray()
        self.position = 0

    async def next(self) -> bytes | None:
        """The content of the next line; None for a flush-pkt. Raises BodyRefused."""
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
        """What follows, up to so many bytes; less only where the body ends."""
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
    """The pkt-line at `position` with its length header, the flush-pkt included; None while incomplete."""
    header = bytes(head[position : position + _HEADER])
    if len(header) < _HEADER:
        return None
    if header == _FLUSH:
        return header
    if re.fullmatch(rb"[0-9a-fA-F]{4}", header) is None or (length := int(header, 16)) <= _HEADER:
        raise BodyRefused("not a pkt-line")
    line = bytes(head[position : position + length])
    return line if len(line) == length else None
