"""The smart protocol of git between a request and `git upload-pack` / `git receive-pack`.

gitprotocol-http(5) describes the two requests of a client, gitprotocol-pack(5) and gitprotocol-v2(5) their bodies.
Packs are streamed and never in memory as a whole. The caller decides first who may fetch or push: `push_requests`
reads the ref updates of a push without starting git.

`configuration.CONFIG` refuses to every pusher: refs outside refs/heads, refs/tags and refs/notes, deleting the branch
in HEAD, objects that fail fsck. No hook of a repository ever runs; `update_hook` is our own.
"""

import asyncio
import contextlib
import re
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import Literal

from ingot_repos.git.command import MIB, GitArgs, clean_environment, git_async
from ingot_repos.git.configuration import UNFLUSHED_REFS
from ingot_repos.git.disk import FEW_REFS, flush
from ingot_repos.git.errors import BodyRefused, RepositoryNotFound
from ingot_repos.git.packs import while_in_use
from ingot_repos.git.sideband import without_path
from ingot_repos.git.streaming import stream_git
from ingot_repos.git.update_hook import RefRefusal, hook_environment

Service = Literal["git-upload-pack", "git-receive-pack"]

# git(1), GIT_PROTOCOL: keys with optional values, separated by colons; git ignores unknown ones.
_GIT_PROTOCOL = re.compile(r"version=[012](:[A-Za-z0-9._-]{1,64}(=[A-Za-z0-9._/+-]{0,128})?){0,8}")
_HEADER = 4
FLUSH = b"0000"
TIME_LIMIT = 3600.0
"""Seconds for a fetch or a push."""
_INFLATE_CHUNK = 256 * 1024
_MAX_ADVERTISEMENT = 256 * MIB

# The answer to a version 2 info/refs lists only the capabilities of this server, never a ref (gitprotocol-v2,
# "Capability Advertisement"), so one answer serves every repository.
_capabilities_v2: dict[str, bytes] = {}


async def advertise(
    path: Path,
    service: Service,
    git_protocol: str | None = None,
    *,
    is_session: bool = False,
    max_memory: int | None = None,
) -> bytes:
    """The body of `GET …/info/refs?service=…` (gitprotocol-http, "Discovering References").

    Args:
        path: the bare repository.
        service: which of the two.
        git_protocol: the `Git-Protocol` header; ignored if malformed.
        is_session: without the line that names the service, as at the start of a session over SSH; in version 2
            there is none.
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
    # Only this value is cached: normal clients send no other, and the cache stays bounded.
    if protocol == "version=2":
        _capabilities_v2[protocol] = answer
    return answer


def speaks_v2(git_protocol: str | None) -> bool:
    """Whether git answers a fetch with this `Git-Protocol` header in version 2."""
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
    """The answer to `POST …/git-upload-pack` or `…/git-receive-pack`; request and answer are streamed.

    Args:
        path: the bare repository.
        service: which of the two.
        git_protocol: the `Git-Protocol` header; ignored if malformed.
        body: the request body. Another task of the same loop reads it.
        gzip: the body has `Content-Encoding: gzip`.
        stateless: False for a whole session over one connection (SSH), where git itself advertises first.
        drain: see `stream_git`; False where the client does not end its side first.
        max_push_bytes: larger packs are refused by git, with a message to the client.
        max_file_bytes: a push with a larger file is refused by git, with a message; 0: any.
        refusals: refs of a push that git refuses, with a message to the client.
        hooks: the folder of the hook for it (`update_hook.hooks_folder`); without it no hook runs, unless a push is late.
        late: where the hooks are of a push that takes long (`HookQuestions.question_if_late`).
        object_count: of the pack of a push (`push_requests.Push`).
        refuses_all: none of the refs may move, for the reasons in `refusals`.
        lfs_repository: see `update_hook.hook_environment`.
        opened: hidden refs, or folders of them, that this push may move.
        ref_count: how many refs this push may move.
        max_inflated_bytes: limit of a body with gzip; clients never send packs with gzip.
        max_memory: bytes of private memory per git process.
        time_limit: seconds for the whole exchange.

    Raises (while iterating):
        GitFailed: after the last chunk; if possible, the stream has git's reason for the client.
        GitTimedOut: killed after `time_limit`.
        BodyRefused: the gzip body is broken or larger than allowed.
    An error of `body` is raised here, after git was killed. Close the generator when the client disconnects.
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
    """The chunks of an answer, which ends when what git has written is on disk."""
    try:
        async with contextlib.aclosing(answer):
            async for chunk in answer:
                yield chunk
    finally:
        await asyncio.to_thread(flush, path)


async def inflate(body: AsyncIterator[bytes], max_bytes: int) -> AsyncIterator[bytes]:
    """Decompress gzip (RFC 1952) chunk by chunk; memory is constant for any ratio.

    Raises:
        BodyRefused: not gzip, incomplete, followed by other bytes, or more than `max_bytes` decompressed.
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
    # zlib still has at most one window, so the limit is never exceeded by more than that.
    if rest := inflater.flush():
        yield rest
    if not inflater.eof:
        raise BodyRefused("the gzip body is incomplete")


def accepted_protocol(service: Service, git_protocol: str | None) -> str | None:
    """The value for GIT_PROTOCOL, or None for version 0.

    There is no version 2 of receive-pack. git answers it as version 0, so the header is not passed on.
    """
    if git_protocol is None or _GIT_PROTOCOL.fullmatch(git_protocol) is None:
        return None
    if service == "git-receive-pack" and _is_v2(git_protocol):
        return None
    return git_protocol


def _is_v2(git_protocol: str | None) -> bool:
    # Of several versions git takes the highest one.
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
