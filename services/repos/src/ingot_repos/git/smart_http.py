"""The smart protocol of git between a request and `git upload-pack` / `git receive-pack`.

gitprotocol-http(5) for the two requests of a client, gitprotocol-pack(5) and gitprotocol-v2(5) for what is
inside. Packs are streamed and never held. Who may fetch or push is decided by the caller, beforehand;
`read_push_commands` shows what a push is about to change without having started git.

Refused to every pusher by `configuration.CONFIG`: refs outside refs/heads, refs/tags and refs/notes, deleting the
branch that HEAD names, objects that fail fsck. Hooks never run.
"""

import re
import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ingot_repos.git.command import MIB, GitArgs, clean_environment, git_async
from ingot_repos.git.errors import BodyRefused, RepositoryNotFound
from ingot_repos.git.refs import RefChange
from ingot_repos.git.streaming import stream_git

Service = Literal["git-upload-pack", "git-receive-pack"]

# git(1), GIT_PROTOCOL: keys with optional values, separated by colons; what we do not know is ignored.
_GIT_PROTOCOL = re.compile(r"version=[012](:[A-Za-z0-9._-]{1,64}(=[A-Za-z0-9._/+-]{0,128})?){0,8}")
_OLD_NEW_REF = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) ([^\0\n]+)(?:\0[^\n]*)?\n?")
_HEADER = 4
_FLUSH = b"0000"
_INFLATE_CHUNK = 256 * 1024
_MAX_ADVERTISEMENT = 256 * MIB
_MAX_COMMANDS = 8 * MIB

# The answer to a version 2 info/refs names only what this server can do, never a ref (gitprotocol-v2,
# "Capability Advertisement"), so one answer serves every repository.
_capabilities_v2: dict[str, bytes] = {}


async def advertise(path: Path, service: Service, git_protocol: str | None = None) -> bytes:
    """The body of `GET …/info/refs?service=…` (gitprotocol-http, "Discovering References").

    Args:
        path: the bare repository.
        service: what the client asked for.
        git_protocol: the `Git-Protocol` header; ignored when malformed.

    Raises:
        RepositoryNotFound: there is none at this path.
        GitFailed: git could not read the repository.
    """
    if not (path / "HEAD").is_file():
        raise RepositoryNotFound("no such repository")
    wanted = _accepted_protocol(service, git_protocol)
    if wanted is not None and wanted in _capabilities_v2:
        return _capabilities_v2[wanted]
    answer = await git_async(
        _service_args(path, service, "--stateless-rpc", "--http-backend-info-refs"),
        environment=_service_environment(wanted),
        max_output=_MAX_ADVERTISEMENT,
    )
    if not _is_v2(wanted):
        return _pkt_line(f"# service={service}\n".encode()) + _FLUSH + answer
    # A bound against clients that invent keys; an honest one sends `version=2` alone.
    if wanted == "version=2":
        _capabilities_v2[wanted] = answer
    return answer


def serve(
    path: Path,
    service: Service,
    git_protocol: str | None,
    body: AsyncIterator[bytes],
    *,
    gzip: bool = False,
    stateless: bool = True,
    max_push_bytes: int | None = None,
    max_inflated_bytes: int = 64 * MIB,
    max_memory: int | None = None,
    time_limit: float = 3600.0,
) -> AsyncGenerator[bytes, None]:
    """The answer to `POST …/git-upload-pack` or `…/git-receive-pack`, both ways streamed.

    Args:
        path: the bare repository.
        service: which of the two.
        git_protocol: the `Git-Protocol` header; ignored when malformed.
        body: the request body. It is read from another task of the same loop.
        gzip: the body has `Content-Encoding: gzip`.
        stateless: False for a whole session over one connection (SSH), where git itself advertises first.
        max_push_bytes: larger packs are refused by git, with a message to the client.
        max_inflated_bytes: bound of a gzip'd body; packs are never gzip'd by clients.
        max_memory: bytes of private memory per git process.
        time_limit: seconds for the whole exchange.

    Raises (while iterating):
        GitFailed: after the last chunk; git has told the client its reason inside the stream where it could.
        GitTimedOut: killed after `time_limit`.
        BodyRefused: the gzip body is broken or larger than allowed.
    Whatever `body` raises is raised here, after git was killed. Close the generator when the client is gone.
    """
    wanted = _accepted_protocol(service, git_protocol)
    config = []
    if max_push_bytes is not None:
        config.append(("receive.maxInputSize", str(max_push_bytes)))
    return stream_git(
        _service_args(path, service, *(["--stateless-rpc"] if stateless else [])),
        body=inflate(body, max_inflated_bytes) if gzip else body,
        environment=_service_environment(wanted, config),
        time_limit=time_limit,
        max_memory=max_memory,
        drain=stateless,
    )


async def inflate(body: AsyncIterator[bytes], max_bytes: int) -> AsyncIterator[bytes]:
    """Undo gzip (RFC 1952) chunk by chunk; memory stays constant whatever the ratio.

    Raises:
        BodyRefused: not gzip, cut short, followed by other bytes, or more than `max_bytes` inflated.
    """
    inflater = zlib.decompressobj(wbits=31)
    total = 0
    async for chunk in body:
        pending = chunk
        while pending:
            if inflater.eof:
                raise BodyRefused("bytes after the end of the gzip body")
            try:
                inflated = inflater.decompress(pending, _INFLATE_CHUNK)
            except zlib.error as error:
                raise BodyRefused("not a gzip body") from error
            total += len(inflated)
            if total > max_bytes:
                raise BodyRefused(f"more than {max_bytes} bytes inflated")
            pending = inflater.unconsumed_tail or inflater.unused_data
            if inflated:
                yield inflated
    # What zlib still holds back is at most one window: it never exceeds the bound by more than that.
    if rest := inflater.flush():
        yield rest
    if not inflater.eof:
        raise BodyRefused("the gzip body is cut short")


@dataclass(frozen=True, slots=True)
class Push:
    """What a receive-pack request asks for, and the whole body again for `serve`."""

    commands: tuple[RefChange, ...]
    body: AsyncIterator[bytes]


async def read_push_commands(body: AsyncIterator[bytes]) -> Push:
    """Read the command list that opens a (not gzip'd) receive-pack body, up to its flush-pkt.

    gitprotocol-pack, "Reference Update Request": shallow lines, then `old new ref` lines, the first with
    capabilities behind a NUL, then a flush-pkt. Lets a push be refused before any object is taken in.
    The flush-pkt alone, by which clients probe before a large push, gives no commands.

    Raises:
        BodyRefused: this is no such list (signed pushes included), or it is larger than 8 MiB.
    """
    held = bytearray()
    commands: list[RefChange] = []
    position = 0
    stream = aiter(body)
    while True:
        while (line := _next_line(held, position)) is None:
            if len(held) > _MAX_COMMANDS:
                raise BodyRefused("too many ref updates in one push")
            chunk = await anext(stream, None)
            if chunk is None:
                raise BodyRefused("the push request is cut short")
            held.extend(chunk)
        if line == _FLUSH:
            return Push(tuple(commands), _replay(bytes(held), stream))
        position += len(line)
        content = line[_HEADER:]
        if not content.startswith(b"shallow "):
            commands.append(_parse_command(content))


def _parse_command(content: bytes) -> RefChange:
    match = _OLD_NEW_REF.fullmatch(content)
    if match is None:
        raise BodyRefused("not a ref update")
    before, after, name = match.groups()
    return RefChange(name.decode("utf-8", "surrogateescape"), before.decode(), after.decode())


def _next_line(held: bytearray, position: int) -> bytes | None:
    """The pkt-line at `position` with its length header, the flush-pkt included; None while incomplete."""
    header = bytes(held[position : position + _HEADER])
    if len(header) < _HEADER:
        return None
    if header == _FLUSH:
        return header
    if re.fullmatch(rb"[0-9a-fA-F]{4}", header) is None or (length := int(header, 16)) <= _HEADER:
        raise BodyRefused("not a pkt-line")
    line = bytes(held[position : position + length])
    return line if len(line) == length else None


async def _replay(held: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield held
    async for chunk in rest:
        yield chunk


def _accepted_protocol(service: Service, git_protocol: str | None) -> str | None:
    """The value for GIT_PROTOCOL, or None for version 0.

    There is no version 2 of receive-pack: git answers as version 0, so the header is left out for it.
    """
    if git_protocol is None or _GIT_PROTOCOL.fullmatch(git_protocol) is None:
        return None
    if service == "git-receive-pack" and _is_v2(git_protocol):
        return None
    return git_protocol


def _is_v2(git_protocol: str | None) -> bool:
    return git_protocol is not None and git_protocol.startswith("version=2")


def _pkt_line(content: bytes) -> bytes:
    return b"%04x" % (len(content) + _HEADER) + content


def _service_args(path: Path, service: Service, *options: str) -> GitArgs:
    if service == "git-upload-pack":
        # --strict: the path is the repository itself, never one found near it.
        return GitArgs("upload-pack", ("--strict", *options), (str(path),))
    return GitArgs("receive-pack", options, (str(path),))


def _service_environment(
    git_protocol: str | None, config: list[tuple[str, str]] | None = None
) -> dict[str, str]:
    extra = {} if git_protocol is None else {"GIT_PROTOCOL": git_protocol}
    return clean_environment(extra, config=config or ())
