"""Fetches with shared responses: equal requests to one generation of a repository get one response."""

import contextlib
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from ingot_chassis.clock import now
from ingot_git.history.archive import stream_bundle
from ingot_git.process.errors import BodyRefused
from ingot_git.process.spools import Part
from ingot_git.protocol.bundle_uris import commit_before, list_of_bundles, with_bundle_uri
from ingot_git.protocol.clone_packs import clone_options, stream_clone
from ingot_git.protocol.fetch_cache import FetchCache
from ingot_git.protocol.fetch_requests import (
    BUNDLE_URI,
    DONE,
    FetchRequest,
    RequestReader,
    visible_part,
)
from ingot_git.protocol.smart_http import FLUSH, TIME_LIMIT, advertise, serve, speaks_v2
from ingot_git.storage.generation import read_generation
from ingot_git.storage.read_cache import ReadCache
from ingot_git.storage.storage import Storage
from ingot_repos.access.rules.admission import Admission, LongRequests, inside
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.placement.rules.loads import RepositoryLoads
from ingot_repos.settings import Settings

SERVICE: Final = "git-upload-pack"
LONGEST_SHARED = 256 * 1024
"""Limit in bytes of a request whose response may be shared, or created without upload-pack."""
_CHUNK = 64 * 1024
BUNDLE = "clone.bundle"
"""The path of the bundle, relative to the URL of the repository."""


@dataclass(frozen=True)
class FetchParts:
    """The objects that all fetches of this process share."""

    settings: Settings
    storage: Storage
    cache: FetchCache
    reads: ReadCache
    admission: Admission
    long_requests: LongRequests
    loads: RepositoryLoads


@dataclass(frozen=True)
class FetchedRepository:
    """A repository that a client fetches from, and the protocol version. The caller has checked the access.

    ``signed_in``: the client is a user or has a deploy key.
    """

    parts: FetchParts
    repository: ResolvedRepository
    protocol: str | None
    signed_in: bool

    @property
    def is_v2(self) -> bool:
        return speaks_v2(self.protocol)

    def within_limits(self, stream: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """Yield the output of git, which starts when a slot is free. Raises Unavailable."""
        slot = self.parts.admission.slot(self.repository.id, signed_in=self.signed_in)
        return inside(slot, stream)

    def serve(self, body: AsyncIterator[bytes], *, is_session: bool = False) -> AsyncGenerator[bytes, None]:
        """Yield git's response to a request body.

        With ``is_session``, ``body`` is the input of a whole session.
        """
        return serve(
            self.parts.storage.path(self.repository.id),
            SERVICE,
            self.protocol,
            body,
            stateless=not is_session,
            drain=not is_session,
            max_memory=self.parts.settings.max_git_memory,
        )

    async def advertise(self, *, is_session: bool = False) -> bytes:
        """Return the advertisement of git."""
        return await advertise(
            self.parts.storage.path(self.repository.id),
            SERVICE,
            self.protocol,
            is_session=is_session,
            max_memory=self.parts.settings.max_git_memory,
        )

    async def advertisement(self) -> bytes:
        """Return the advertisement over HTTP. In protocols 0 and 1 it lists all refs, so it is cached."""
        if self.is_v2:
            answer = await self.advertise()
            return with_bundle_uri(answer) if self.offers_bundle else answer

        async def start() -> AsyncGenerator[bytes, None]:
            yield await self.advertise()

        async with contextlib.aclosing(await self._shared(b"advertisement", b"", start)) as parts:
            return b"".join([bytes(part) async for part in parts])

    async def answer_to_body(self, reader: RequestReader, *, takes_files: bool) -> AsyncGenerator[Part, None]:
        """Yield git's response to a body over HTTP, which has one request. Raises the errors of `answer`."""
        one = await reader.next((FLUSH,) if self.is_v2 else DONE) or FetchRequest(b"")
        if await reader.next() is not None:
            # git would not even read it.
            raise BodyRefused("more than one request")
        if not self.is_v2:
            one = one.in_version_0()
        parts = self.answer(one, reader, takes_files=takes_files)
        del one  # git has it soon, the client its answer much later
        async with contextlib.aclosing(parts):
            async for part in parts:
                yield part

    async def answer(
        self, one: FetchRequest, reader: RequestReader, *, takes_files: bool
    ) -> AsyncGenerator[Part, None]:
        """Yield git's response to ``one``, the last request that ``reader`` has returned.

        A long request is not kept in memory during the response. ``takes_files``: see `FetchCache.answer`.
        Raises BodyRefused, WantRefused.
        """
        if self.is_v2:
            one.require_command()
            if one.command == BUNDLE_URI:
                await reader.release()
                has_bundle = await self.commit_of_bundle() is not None
                yield list_of_bundles(BUNDLE if has_bundle else None)
                return

        start = partial(self._answer_of_git, one, reader)
        if len(one.text) <= LONGEST_SHARED:
            stream = await self._shared(b"fetch", one.text, start, takes_files=takes_files)
        else:
            stream = start()
        del one, start
        async with contextlib.aclosing(stream):
            async for chunk in stream:
                yield chunk

    def _answer_of_git(self, one: FetchRequest, reader: RequestReader) -> AsyncGenerator[bytes, None]:
        path, memory = self.parts.storage.path(self.repository.id), self.parts.settings.max_git_memory
        may_be_clone = self.is_v2 and len(one.text) <= LONGEST_SHARED
        if may_be_clone and (options := clone_options(one, path)) is not None:
            wants = body_of(partial(self._visible_wants, one), reader)
            stream = stream_clone(path, options, wants, max_memory=memory)
        else:
            stream = self.serve(self.visible_body(one, reader))
        return self.within_limits(stream)

    def visible_body(self, one: FetchRequest, reader: RequestReader) -> AsyncIterator[bytes]:
        """Yield the part of a request that git receives. ``one`` is the last request of ``reader``.

        Raises WantRefused.
        """
        return body_of(partial(self._visible_part, one), reader)

    async def _visible_wants(self, one: FetchRequest) -> bytes:
        """Return the wanted object ids, one per line. Raises WantRefused."""
        await self._visible_part(one)
        return b"".join(b"%b\n" % oid.encode() for oid in one.wants)

    def _visible_part(self, one: FetchRequest) -> Awaitable[bytes]:
        return visible_part(
            self.parts.storage,
            self.repository.id,
            self.repository.row.default_branch,
            one,
            self.parts.reads,
            max_memory=self.parts.settings.max_git_memory,
        )

    @property
    def offers_bundle(self) -> bool:
        """True if the repository is large enough for a bundle, and its bundle fits into the cache."""
        settings, size = self.parts.settings, self.repository.row.size
        return 0 < settings.bundle_min_bytes <= size <= settings.fetch_cache_bytes // 2

    async def commit_of_bundle(self) -> str | None:
        """Return the tip of the default branch at the start of the day (UTC). Its bundle is served for a day.

        Return None without a bundle, and never a commit that the branch no longer contains.
        """
        if not self.offers_bundle:
            return None
        day = now().replace(hour=0, minute=0, second=0, microsecond=0)
        branch = self.repository.row.default_branch
        return await self.parts.storage.call(self.repository.id, commit_before, branch, day.timestamp())

    def bundle(self, commit: str, *, takes_files: bool) -> AsyncGenerator[Part, None]:
        """Yield the bundle of a commit, which all clients share. It does not depend on other refs.

        ``takes_files``: see `FetchCache.answer`.
        """
        path, memory = self.parts.storage.path(self.repository.id), self.parts.settings.max_git_memory

        def start() -> AsyncGenerator[bytes, None]:
            size = self.repository.row.size
            return self.within_limits(
                stream_bundle(path, commit, size=size, time_limit=TIME_LIMIT, max_memory=memory)
            )

        async def is_valid() -> bool:
            return True

        return self.parts.cache.answer(
            f"bundle {self.repository.id} {commit}".encode(),
            start,
            expected_bytes=self.repository.row.size,
            is_valid=is_valid,
            takes_files=takes_files,
            signed_in=self.signed_in,
        )

    async def _key(self, kind: bytes, question: bytes) -> bytes:
        """Return the cache key of a response for the current generation of the repository."""
        id_ = self.repository.id
        generation = await self.parts.storage.call(id_, read_generation)
        protocol = (self.protocol or "").encode(errors="replace")
        parts = (str(id_).encode(), generation, protocol, kind, question)
        return hashlib.blake2b(b"".join(b"%d:%b" % (len(part), part) for part in parts)).digest()

    async def _shared(
        self,
        kind: bytes,
        question: bytes,
        start: Callable[[], AsyncGenerator[bytes, None]],
        *,
        takes_files: bool = False,
    ) -> AsyncGenerator[Part, None]:
        """Yield the shared response to a request of one kind. ``start`` starts git."""
        key = partial(self._key, kind, question)
        before = await key()

        async def is_valid() -> bool:
            return await key() == before

        return self.parts.cache.answer(
            before,
            start,
            expected_bytes=self.repository.row.size + LONGEST_SHARED,
            is_valid=is_valid,
            takes_files=takes_files,
            signed_in=self.signed_in,
        )


async def body_of(text_of: Callable[[], Awaitable[bytes]], reader: RequestReader) -> AsyncIterator[bytes]:
    """Yield a text in small parts, then release the slot of ``reader``.

    The parts are small because a writer keeps each part in memory until it gets the next part.
    """
    text = await text_of()
    del text_of
    for position in range(0, len(text), _CHUNK):
        yield text[position : position + _CHUNK]
    del text
    await reader.release()
