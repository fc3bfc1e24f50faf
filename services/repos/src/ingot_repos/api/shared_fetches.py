"""Fetches whose answers are shared: those that ask the same of the same generation of a repository."""

import contextlib
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from functools import partial

from ingot_chassis.clock import now
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.git.archive import stream_bundle
from ingot_repos.git.bundle_uris import commit_before, list_of_bundles
from ingot_repos.git.clone_packs import clone_options, stream_clone
from ingot_repos.git.errors import BodyRefused
from ingot_repos.git.fetch_requests import BUNDLE_URI, DONE, FetchRequest, RequestReader, visible_part
from ingot_repos.git.generation import read_generation
from ingot_repos.git.smart_http import FLUSH, TIME_LIMIT, serve, speaks_v2
from ingot_repos.git.spools import Part

LONGEST_SHARED = 256 * 1024
"""Bytes of a request whose answer may be shared, or come without upload-pack."""
_CHUNK = 64 * 1024
BUNDLE = "clone.bundle"
"""Where the bundle is, below the address of the repository."""


async def answer_to_body(
    repository: ResolvedRepository,
    request: RepositoryRequest,
    reader: RequestReader,
    *,
    takes_files: bool,
) -> AsyncGenerator[Part, None]:
    """What git answers to a body over HTTP, which has one request. Raises as `answer_to_fetch`."""
    is_v2 = speaks_v2(request.headers.get("git-protocol"))
    one = await reader.next((FLUSH,) if is_v2 else DONE) or FetchRequest(b"")
    if await reader.next() is not None:
        # git would not even read it.
        raise BodyRefused("more than one request")
    if not is_v2:
        one = one.in_version_0()
    parts = answer_to_fetch(repository, request, one, reader, takes_files=takes_files)
    del one  # git has it soon, the client its answer much later
    async with contextlib.aclosing(parts):
        async for part in parts:
            yield part


async def answer_to_fetch(
    repository: ResolvedRepository,
    request: RepositoryRequest,
    one: FetchRequest,
    reader: RequestReader,
    *,
    takes_files: bool,
) -> AsyncGenerator[Part, None]:
    """What git answers to one request of a fetch, the last one of ``reader``; of a long one nothing stays in memory meanwhile.

    ``takes_files``: see `FetchCache.answer`. Raises BodyRefused, WantRefused.
    """
    if speaks_v2(request.headers.get("git-protocol")):
        one.require_command()
        if one.command == BUNDLE_URI:
            await reader.release()
            has_bundle = await commit_of_bundle(repository, request) is not None
            yield list_of_bundles(BUNDLE if has_bundle else None)
            return

    start = partial(_answer_of_git, repository, request, one, reader)
    if len(one.text) <= LONGEST_SHARED:
        stream = await shared(repository, request, b"fetch", one.text, start, takes_files=takes_files)
    else:
        stream = start()
    del one, start
    async with contextlib.aclosing(stream):
        async for chunk in stream:
            yield chunk


def _answer_of_git(
    repository: ResolvedRepository, request: RepositoryRequest, one: FetchRequest, reader: RequestReader
) -> AsyncGenerator[bytes, None]:
    path, protocol = request.storage.path(repository.id), request.headers.get("git-protocol")
    memory = request.max_git_memory
    may_be_clone = speaks_v2(protocol) and len(one.text) <= LONGEST_SHARED
    if may_be_clone and (options := clone_options(one, path)) is not None:
        wants = partial(_visible_wants, repository, request, one)
        stream = stream_clone(path, options, body_of(wants, reader), max_memory=memory)
    else:
        body = visible_body(repository, request, one, reader)
        stream = serve(path, "git-upload-pack", protocol, body, max_memory=memory)
    return within_limits(repository, request, stream)


def visible_body(
    repository: ResolvedRepository, request: RepositoryRequest, one: FetchRequest, reader: RequestReader
) -> AsyncIterator[bytes]:
    """What git gets of a request, the last one of ``reader``. Raises WantRefused.

    The work that this takes has the room of the git that waits for it.
    """
    return body_of(partial(_visible_part, repository, request, one), reader)


async def _visible_wants(
    repository: ResolvedRepository, request: RepositoryRequest, one: FetchRequest
) -> bytes:
    """The objects that it wants, a line each. Raises WantRefused."""
    await _visible_part(repository, request, one)
    return b"".join(b"%b\n" % oid.encode() for oid in one.wants)


def _visible_part(
    repository: ResolvedRepository, request: RepositoryRequest, one: FetchRequest
) -> Awaitable[bytes]:
    return visible_part(
        request.storage,
        repository.id,
        repository.row.default_branch,
        one,
        request.components.reads,
        max_memory=request.max_git_memory,
    )


async def body_of(text_of: Callable[[], Awaitable[bytes]], reader: RequestReader) -> AsyncIterator[bytes]:
    """A text for git in small parts: whoever writes one remembers it until the next. Then ``reader`` has no slot any more."""
    text = await text_of()
    del text_of
    for position in range(0, len(text), _CHUNK):
        yield text[position : position + _CHUNK]
    del text
    await reader.release()


def offers_bundle(repository: ResolvedRepository, request: RepositoryRequest) -> bool:
    """Whether it is large enough, and small enough for its bundle to be shared."""
    settings = request.settings
    return 0 < settings.bundle_min_bytes <= repository.row.size <= settings.fetch_cache_bytes // 2


async def commit_of_bundle(repository: ResolvedRepository, request: RepositoryRequest) -> str | None:
    """What the bundle is of: the default branch as it was when the day (UTC) began, so that it serves for a day.

    A commit that the branch has lost is never it.
    """
    if not offers_bundle(repository, request):
        return None
    day = now().replace(hour=0, minute=0, second=0, microsecond=0)
    branch = repository.row.default_branch
    return await request.storage.call(repository.id, commit_before, branch, day.timestamp())


def shared_bundle(
    repository: ResolvedRepository, request: RepositoryRequest, commit: str, *, takes_files: bool
) -> AsyncGenerator[Part, None]:
    """The bundle of a commit: the same for all who want it, whatever other refs do meanwhile.

    ``takes_files``: see `FetchCache.answer`.
    """
    path = request.storage.path(repository.id)

    def start() -> AsyncGenerator[bytes, None]:
        bundle = stream_bundle(path, commit, time_limit=TIME_LIMIT, max_memory=request.max_git_memory)
        return within_limits(repository, request, bundle)

    async def is_valid() -> bool:
        return True

    return request.components.fetches.answer(
        f"bundle {repository.id} {commit}".encode(),
        start,
        expected_bytes=repository.row.size,
        is_valid=is_valid,
        takes_files=takes_files,
        signed_in=request.counts_as_signed_in,
    )


async def within_limits(
    repository: ResolvedRepository, request: RepositoryRequest, stream: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """What a git says that begins when there is room for it. Raises Unavailable."""
    async with request.git_slot(repository.id), contextlib.aclosing(stream):
        async for chunk in stream:
            yield chunk


async def shared(
    repository: ResolvedRepository,
    request: RepositoryRequest,
    kind: bytes,
    question: bytes,
    start: Callable[[], AsyncGenerator[bytes, None]],
    *,
    takes_files: bool = False,
) -> AsyncGenerator[Part, None]:
    """What git, which ``start`` asks, answers to a question of one kind. The caller decides before who may ask it."""

    async def key() -> bytes:
        generation = await request.storage.call(repository.id, read_generation)
        protocol = request.headers.get("git-protocol", "").encode(errors="replace")
        parts = (str(repository.id).encode(), generation, protocol, kind, question)
        return hashlib.blake2b(b"".join(b"%d:%b" % (len(part), part) for part in parts)).digest()

    before = await key()

    async def is_valid() -> bool:
        return await key() == before

    fetches, most = request.components.fetches, repository.row.size + LONGEST_SHARED
    return fetches.answer(
        before,
        start,
        expected_bytes=most,
        is_valid=is_valid,
        takes_files=takes_files,
        signed_in=request.counts_as_signed_in,
    )
