"""Connects requests to `git upload-pack` and `git receive-pack`: git's smart HTTP protocol.

gitprotocol-http(5) describes the two requests of a client, gitprotocol-pack(5) and gitprotocol-v2(5) their
bodies. Packs are streamed and never completely in memory. The caller checks the permissions first:
`push_requests` reads the ref updates of a push without starting git.

`configuration.CONFIG` rejects some pushes of every caller: refs outside refs/heads, refs/tags and refs/notes,
deletion of the branch in HEAD, and objects that fail fsck. Hooks in repositories never run, only the hooks of
this package (`update_hook`).
"""

import asyncio
import contextlib
import re
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import Literal

from ingot_git.hooks.update_hook import RefRefusal, hook_environment
from ingot_git.process.command import MIB, GitArgs, clean_environment, git_async
from ingot_git.process.configuration import UNFLUSHED_REFS
from ingot_git.process.disk import FEW_REFS, flush
from ingot_git.process.errors import BodyRefused, RepositoryNotFound
from ingot_git.process.streaming import stream_git
from ingot_git.protocol.sideband import without_path
from ingot_git.storage.packs import while_in_use

Service = Literal["git-upload-pack", "git-receive-pack"]

# git(1), GIT_PROTOCOL: keys with optional values, separated by colons; git ignores unknown ones.
_GIT_PROTOCOL = re.compile(r"version=[012](:[A-Za-z0-9._-]{1,64}(=[A-Za-z0-9._/+-]{0,128})?){0,8}")
_HEADER = 4
FLUSH = b"0000"
TIME_LIMIT = 3600.0
"""Seconds for a fetch or a push."""
_INFLATE_CHUNK = 256 * 1024
_MAX_ADVERTISEMENT = 256 * MIB

# The version 2 response to info/refs lists only the capabilities of the server, no refs (gitprotocol-v2(5),
# "Capability Advertisement"). So one response serves every repository.
_capabilities_v2: dict[str, bytes] = {}


async def advertise(
    path: Path,
    service: Service,
    git_protocol: str | None = None,
    *,
    is_session: bool = False,
    max_memory: int | None = None,
) -> bytes:
    """Return the body of `GET …/info/refs?service=…` (gitprotocol-http(5), "Discovering References").

    Args:
        path: the bare repository.
        service: git-upload-pack or git-receive-pack.
        git_protocol: the `Git-Protocol` header; ignored if malformed.
        is_session: omit the line that names the service, as in a session over SSH. Protocol 2 never has it.
        max_memory: bytes of private memory of git.

    Raises:
        RepositoryNotFound: there is no repository at this path.
        GitFailed: git could not read the repository.
    """
    if not (path / "HEAD").is_file():
        raise RepositoryNotFound("no such repository")
    protocol = accepted_protocol(service, git_protocol)
    if protocol is not None and protocol in _capabilities_v2:
        return _capabilities_v2[protocol]
    answer = await git_async(
        _service_args(path, service, "--stateless-rpc", "--http-backend-info-refs"),
        environment=_service_environment(protocol),
        max_output=_MAX_ADVERTISEMENT,
        max_memory=max_memory,
    )
    if not _is_v2(protocol):
        head = b"" if is_session else pkt_line(f"# service={service}\n".encode()) + FLUSH
        return head + answer
    answer = answer.replace(pkt_line(b"object-info\n"), b"")
    # Only this value is cached, which bounds the cache: normal clients send no other.
    if protocol == "version=2":
        _capabilities_v2[protocol] = answer
    return answer


def speaks_v2(git_protocol: str | None) -> bool:
    """True if git uses protocol version 2 for a fetch with this `Git-Protocol` header."""
    return _is_v2(accepted_protocol("git-upload-pack", git_protocol))


def serve(
    path: Path,
    service: Service,
    git_protocol: str | None,
    body: AsyncIterator[bytes],
    *,
    gzip: bool = False,
    stateless: bool = True,
    drain: bool = True,
    max_push_bytes: int | None = None,
    max_file_bytes: int = 0,
    refusals: Sequence[RefRefusal] = (),
    hooks: Path | None = None,
    late: Path | None = None,
    object_count: int = 0,
    refuses_all: bool = False,
    lfs_repository: int = 0,
    opened: Sequence[str] = (),
    ref_count: int = 0,
    max_inflated_bytes: int = 64 * MIB,
    max_memory: int | None = None,
    time_limit: float = TIME_LIMIT,
) -> AsyncGenerator[bytes, None]:
    """Yield the response to `POST …/git-upload-pack` or `…/git-receive-pack`. Both bodies are streamed.

    Args:
        path: the bare repository.
        service: git-upload-pack or git-receive-pack.
        git_protocol: the `Git-Protocol` header; ignored if malformed.
        body: the request body. Another task of the same loop reads it.
        gzip: the body has `Content-Encoding: gzip`.
        stateless: False for a session over one connection (SSH), where git itself advertises first.
        drain: see `stream_git`; False if the client does not close its side first.
        max_push_bytes: git rejects larger packs, with a message to the client.
        max_file_bytes: git rejects a push with a larger file, with a message; 0 for no limit.
        refusals: refs of a push that git rejects, with a message to the client.
        hooks: the folder of the hooks (`update_hook.hooks_folder`). Without it hooks run only for late
            pushes.
        late: the hooks path of a push that takes long (`HookQuestions.question_if_late`).
        object_count: objects in the pack of a push (`push_requests.Push`).
        refuses_all: none of the refs may move, for the reasons in `refusals`.
        lfs_repository: see `update_hook.hook_environment`.
        opened: hidden refs, or folders of them, that this push may move.
        ref_count: number of refs that this push may move.
        max_inflated_bytes: limit for a body with gzip; clients never send packs with gzip.
        max_memory: bytes of private memory per git process.
        time_limit: seconds for the whole exchange.

    Raises (while iterating):
        GitFailed: after the last chunk; if possible, the stream has git's reason for the client.
        GitTimedOut: git was killed after `time_limit`.
        BodyRefused: the gzip body is broken or larger than allowed.

    Errors of `body` are raised here after git was killed. Close the generator when the client disconnects.
    """
    protocol = accepted_protocol(service, git_protocol)
    config = []
    if max_push_bytes is not None:
        config.append(("receive.maxInputSize", str(max_push_bytes)))
    config += [("receive.hideRefs", f"!{name.removesuffix('/')}") for name in opened]
    if ref_count > FEW_REFS:
        config += UNFLUSHED_REFS
    extra: dict[str, str] = {}
    if folder := hooks or late:
        config.append(("core.hooksPath", str(folder)))
        extra = hook_environment(
            refusals,
            max_file_bytes,
            object_count,
            refuses_all=refuses_all,
            lfs_repository=lfs_repository,
            late=late,
        )
    answer = stream_git(
        _service_args(path, service, *(["--stateless-rpc"] if stateless else [])),
        body=inflate(body, max_inflated_bytes) if gzip else body,
        environment=_service_environment(protocol, config) | extra,
        time_limit=time_limit,
        max_memory=max_memory,
        drain=drain,
    )
    answer = while_in_use(path, answer)
    if ref_count > FEW_REFS:
        answer = _flushed(answer, path)
    return without_path(answer, path) if service == "git-receive-pack" else answer


async def _flushed(answer: AsyncGenerator[bytes, None], path: Path) -> AsyncGenerator[bytes, None]:
    """Yield the chunks of a response. Then flush the data that git wrote to disk."""
    try:
        async with contextlib.aclosing(answer):
            async for chunk in answer:
                yield chunk
    finally:
        await asyncio.to_thread(flush, path)


async def inflate(body: AsyncIterator[bytes], max_bytes: int) -> AsyncIterator[bytes]:
    """Decompress gzip (RFC 1952) chunk by chunk, with constant memory for any ratio.

    Raises:
        BodyRefused: the body is not gzip, is incomplete, has bytes after its end, or has more than
            `max_bytes` bytes decompressed.
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
    # zlib buffers at most one window, so the limit is exceeded by at most one window.
    if rest := inflater.flush():
        yield rest
    if not inflater.eof:
        raise BodyRefused("the gzip body is incomplete")


def accepted_protocol(service: Service, git_protocol: str | None) -> str | None:
    """Return the value for GIT_PROTOCOL; None for version 0.

    receive-pack has no version 2. git would answer in version 0, so the header is ignored.
    """
    if git_protocol is None or _GIT_PROTOCOL.fullmatch(git_protocol) is None:
        return None
    if service == "git-receive-pack" and _is_v2(git_protocol):
        return None
    return git_protocol


def _is_v2(git_protocol: str | None) -> bool:
    # If several versions are given, git uses the highest.
    return git_protocol is not None and "version=2" in git_protocol.split(":")


def pkt_line(content: bytes) -> bytes:
    return b"%04x" % (len(content) + _HEADER) + content


def _service_args(path: Path, service: Service, *options: str) -> GitArgs:
    if service == "git-upload-pack":
        # --strict: git uses exactly this path and searches no other.
        return GitArgs("upload-pack", ("--strict", *options), (str(path),))
    return GitArgs("receive-pack", options, (str(path),))


def _service_environment(
    git_protocol: str | None, config: list[tuple[str, str]] | None = None
) -> dict[str, str]:
    extra = {} if git_protocol is None else {"GIT_PROTOCOL": git_protocol}
    return clean_environment(extra, config=config or ())
