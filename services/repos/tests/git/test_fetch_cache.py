"""Identical fetches start git once. The tests cover the content, the lifetime and the size of the cache."""

import asyncio
import contextlib
import threading

import pygit2
import pytest

from ingot_chassis.errors import Unavailable
from ingot_git.process import spools
from ingot_git.process.errors import GitError, GitTimedOut
from ingot_git.protocol import fetch_cache
from ingot_git.protocol.fetch_cache import WINDOW, FetchCache
from ingot_git.storage.generation import read_generation
from ingot_git.storage.packs import pack_repository
from ingot_repos.upkeep.jobs.upkeep import PACK_EVERY

from ..world import commit, git

CHUNK = 256 * 1024
LONG = [bytes([number % 251]) * CHUNK for number in range(3 * WINDOW // CHUNK)]
LONG_BYTES = sum(map(len, LONG))


class Source:
    """Counts how often it runs, and is held by `gate` after its first chunk."""

    def __init__(self, chunks, error=None):
        self.chunks, self.error = chunks, error
        self.runs = self.ends = 0
        self.gate = asyncio.Event()

    async def __call__(self):
        self.runs += 1
        try:
            for number, chunk in enumerate(self.chunks):
                if number == 1:
                    await self.gate.wait()
                yield chunk
            if self.error is not None:
                raise self.error
        finally:
            self.ends += 1


def ask(cache, source, key=b"k", *, expected=0, valid=True, takes_files=False, signed_in=True, to_file=False):
    async def is_valid():
        return valid

    return cache.answer(
        key,
        source,
        expected_bytes=expected,
        is_valid=is_valid,
        takes_files=takes_files,
        signed_in=signed_in,
        to_file=to_file,
    )


async def whole(stream):
    async with contextlib.aclosing(stream):
        return b"".join([part async for part in stream])


@pytest.fixture
def cache(tmp_path):
    return FetchCache(tmp_path, max_bytes=3 * LONG_BYTES)


async def test_a_short_answer_is_remembered(cache):
    source = Source([b"refs"])
    assert [await whole(ask(cache, source)) for _ in range(3)] == [b"refs"] * 3
    assert source.runs == 1
    assert await whole(ask(cache, source, b"other")) == b"refs"
    assert source.runs == 2


async def test_who_takes_files_gets_the_same_bytes_and_parts_of_the_file(cache):
    source = Source(LONG)
    source.gate.set()
    for numbers_of_files in (0, 1, 1):
        async with contextlib.aclosing(ask(cache, source, takes_files=True)) as stream:
            parts = [(type(part), bytes(part)) async for part in stream]
        assert b"".join(content for _, content in parts) == b"".join(LONG)
        assert min(1, sum(kind is spools.FilePart for kind, _ in parts)) == numbers_of_files


async def test_those_who_share_a_run_get_the_same_with_files_and_without(cache):
    source = Source(LONG)
    streams = [ask(cache, source, takes_files=takes_files) for takes_files in (True, False, True)]
    clients = [asyncio.create_task(all_bytes(stream)) for stream in streams]
    await asyncio.sleep(0)
    source.gate.set()
    assert await asyncio.gather(*clients) == [b"".join(LONG)] * 3
    assert source.runs == 1


async def all_bytes(stream):
    """As ``whole``, of parts that may be those of a file."""
    async with contextlib.aclosing(stream):
        return b"".join([bytes(part) async for part in stream])


async def test_a_long_answer_is_kept_from_its_second_use_on(cache, tmp_path):
    source = Source(LONG)
    source.gate.set()
    for runs in (1, 2, 2, 2):
        assert await whole(ask(cache, source)) == b"".join(LONG)
        assert (source.runs, list(tmp_path.iterdir())) == (runs, [])
    assert cache.usage.file_bytes == LONG_BYTES


async def test_git_does_not_wait_for_a_client_whose_answer_goes_through_a_file(cache):
    source = Source(LONG)
    source.gate.set()
    stream = ask(cache, source, to_file=True)
    first = await anext(stream)
    while not source.ends:
        await asyncio.sleep(0.01)
    assert first + await whole(stream) == b"".join(LONG)


async def test_clients_at_the_same_time_get_one_answer_whole(cache):
    source = Source(LONG)
    streams = [ask(cache, source) for _ in range(4)]
    assert [await anext(stream) for stream in streams] == [LONG[0]] * 4
    source.gate.set()
    answers = await asyncio.gather(*(whole(stream) for stream in streams))
    assert {answer == b"".join(LONG[1:]) for answer in answers} == {True}
    assert source.runs == 1
    assert await whole(ask(cache, source)) == b"".join(LONG)
    assert source.runs == 1


async def test_who_asked_before_the_last_other_client_left_lets_its_own_git_answer(cache):
    first, own = Source(LONG), Source(LONG)
    own.gate.set()
    stream = ask(cache, first, signed_in=False)
    await anext(stream)
    other = ask(cache, own)
    await stream.aclose()
    first.gate.set()
    assert await whole(other) == b"".join(LONG)
    assert (first.runs, own.runs) == (1, 1)


async def test_who_is_signed_in_does_not_wait_for_the_room_of_strangers(cache):
    full = asyncio.Event()

    async def refused():
        await full.wait()
        raise Unavailable("too many")
        yield b""

    stranger = asyncio.create_task(whole(ask(cache, refused, signed_in=False)))
    await asyncio.sleep(0)
    source = Source(LONG)
    streams = [ask(cache, source), ask(cache, source), ask(cache, source, signed_in=False)]
    assert [await anext(stream) for stream in streams] == [LONG[0]] * 3
    full.set()
    with pytest.raises(Unavailable):
        await stranger
    source.gate.set()
    assert [len(await whole(stream)) for stream in streams] == [LONG_BYTES - CHUNK] * 3
    assert source.runs == 1


async def test_who_is_signed_in_shares_what_strangers_get_already(cache):
    strangers, own = Source(LONG), Source(LONG)
    streams = [ask(cache, strangers, signed_in=False)]
    assert await anext(streams[0]) == LONG[0]
    streams.append(ask(cache, own))
    assert await anext(streams[1]) == LONG[0]
    strangers.gate.set()
    assert [len(await whole(stream)) for stream in streams] == [LONG_BYTES - CHUNK] * 2
    assert (strangers.runs, own.runs) == (1, 0)


async def test_of_two_runs_of_the_same_one_file_is_kept(cache):
    sources = Source(LONG), Source(LONG)
    streams = [
        ask(cache, source, signed_in=signed_in)
        for source, signed_in in zip((*sources, *sources), (False, True) * 2, strict=True)
    ]
    readers = [asyncio.create_task(whole(stream)) for stream in streams]
    for _ in range(10):
        await asyncio.sleep(0)
    for source in sources:
        source.gate.set()
    assert {await reader for reader in readers} == {b"".join(LONG)}
    assert [source.runs for source in sources] == [1, 1]
    assert await whole(ask(cache, sources[0])) == b"".join(LONG)
    assert cache.usage[:2] == (LONG_BYTES, 1)


async def test_a_client_that_leaves_disturbs_nobody_and_the_last_one_ends_git(cache):
    source = Source(LONG)
    first, second = ask(cache, source), ask(cache, source)
    assert await anext(first) == await anext(second)
    await first.aclose()
    assert source.ends == 0
    late = ask(cache, source)
    await second.aclose()
    assert (source.runs, source.ends) == (1, 1)
    source.gate.set()
    assert await whole(late) == b"".join(LONG)
    assert source.runs == 2
    assert cache.usage == (0, 0, 0, 0)


@pytest.mark.parametrize("chunks", [[b"part"], LONG])
async def test_what_git_did_not_finish_is_not_kept_and_every_client_hears_of_it(cache, chunks):
    source = Source(chunks, GitError("git failed"))
    source.gate.set()
    for runs in (1, 2):
        streams = [ask(cache, source) for _ in range(2)]
        results = await asyncio.gather(*(whole(stream) for stream in streams), return_exceptions=True)
        assert [str(result) for result in results] == ["git failed"] * 2
        assert (source.runs, cache.usage) == (runs, (0, 0, 0, 0))


async def test_what_changed_meanwhile_is_not_kept(cache):
    for chunks in ([b"refs"], LONG):
        source = Source(chunks)
        source.gate.set()
        for _ in range(3):
            await whole(ask(cache, source, chunks[0][:9], valid=False))
        assert (source.runs, cache.usage.file_bytes) == (3, 0)


async def test_files_never_take_more_than_they_may(cache, tmp_path):
    source = Source(LONG)
    source.gate.set()
    for number in range(5):
        for _ in range(2):
            assert await whole(ask(cache, source, b"%d" % number)) == b"".join(LONG)
        assert cache.usage.file_bytes <= 3 * LONG_BYTES
    assert source.runs == 10
    await whole(ask(cache, source, b"4"))
    assert source.runs == 10
    await whole(ask(cache, source, b"0"))
    assert source.runs == 11
    tiny = FetchCache(tmp_path, max_bytes=LONG_BYTES - 1)
    streams = [ask(tiny, source) for _ in range(2)]  # it is longer than expected
    assert await asyncio.gather(*(whole(stream) for stream in streams)) == [b"".join(LONG)] * 2
    assert (source.runs, tiny.usage) == (12, (0, 0, 0, 0))
    for limit, expected in ((0, 0), (100, 90)):
        unshared = FetchCache(tmp_path, max_bytes=limit)
        assert await whole(ask(unshared, Source([b"x"]), expected=expected)) == b"x"
        assert unshared.usage == (0, 0, 0, 0)


async def test_git_waits_for_a_client_whose_answer_is_not_shared(cache):
    source = Source(LONG * 3)
    source.gate.set()
    stream = ask(cache, source, expected=10 * LONG_BYTES)
    assert await anext(stream) == LONG[0]
    for _ in range(200):
        await asyncio.sleep(0)
    assert source.ends == 0
    assert await whole(stream) == b"".join((LONG * 3)[1:])


async def test_a_client_that_is_much_slower_than_the_others_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch_cache, "SLOW_SECONDS", 0.0)
    cache, source = FetchCache(tmp_path, max_bytes=WINDOW), Source(LONG)  # too little room for a file
    slow, fast = ask(cache, source), asyncio.create_task(whole(ask(cache, source)))
    assert await anext(slow) == LONG[0]
    await asyncio.sleep(0)
    source.gate.set()
    assert await fast == b"".join(LONG)
    with pytest.raises(GitTimedOut):
        await whole(slow)
    assert source.runs == 1


async def test_a_client_that_is_left_behind_sends_no_other_file(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch_cache, "SLOW_SECONDS", 0.0)
    cache, gate = FetchCache(tmp_path, max_bytes=2 * WINDOW), asyncio.Event()
    chunks = LONG * 2  # there is too little room for all of them

    async def source():
        for number, chunk in enumerate(chunks):
            if number * CHUNK > WINDOW + CHUNK:  # the file has begun
                await gate.wait()
            yield chunk

    slow, fast = [ask(cache, source, takes_files=True) for _ in range(2)]
    reading = asyncio.create_task(all_bytes(fast))
    while not isinstance(part := await anext(slow), spools.FilePart):
        continue
    gate.set()
    assert await reading == b"".join(chunks)
    assert bytes(part) == b"".join(chunks)[part.offset : part.offset + part.count]
    with pytest.raises(GitTimedOut):
        await anext(slow)
    assert cache.usage.file_bytes == 0
    with pytest.raises(OSError, match="Bad file descriptor"):
        bytes(part)


async def test_an_answer_that_is_broken_off_while_it_is_written_takes_no_room(cache, monkeypatch):
    source, began, gate = Source(LONG), asyncio.Event(), threading.Event()
    source.gate.set()
    await whole(ask(cache, source))  # the second use goes through a file
    loop, write = asyncio.get_running_loop(), spools.Spool._write

    def write_late(spool, chunk):
        loop.call_soon_threadsafe(began.set)
        gate.wait()
        write(spool, chunk)

    monkeypatch.setattr(spools.Spool, "_write", write_late)
    client = asyncio.create_task(whole(ask(cache, source)))
    await began.wait()
    client.cancel()
    gate.set()
    await asyncio.wait([client])
    assert cache.reserve(3 * LONG_BYTES)


async def test_an_answer_that_nobody_wants_goes(cache, monkeypatch):
    monkeypatch.setattr(fetch_cache, "IDLE_SECONDS", 0)
    source = Source(LONG)
    source.gate.set()
    for _ in range(2):
        await whole(ask(cache, source))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert cache.usage == (0, 0, 0, 0)


async def test_the_generation_changes_with_every_ref_and_with_packs(world, base):
    path = world.components.storage.path(base)

    def generation():
        return read_generation(pygit2.Repository(str(path)))

    generations = [generation()]
    for args in (
        ("branch", "new/one", "master"),
        ("branch", "-f", "new/one", "topic"),
        ("update-ref", "refs/pull/1/head", "topic"),
        ("pack-refs", "--all"),
        ("symbolic-ref", "HEAD", "refs/heads/topic"),
        ("branch", "-D", "new/one"),
    ):
        await git(*args, cwd=path)
        generations.append(generation())
    await asyncio.to_thread(pack_repository, path, grace=PACK_EVERY)
    generations.append(generation())
    assert len(set(generations)) == 8
    await git("update-ref", "refs/scratch/x", "topic", cwd=path)
    await git("update-ref", "refs/scratch/proposals/1", "topic", cwd=path)
    assert generation() == generations[-1]


@pytest.mark.parametrize("version", [0, 2])
async def test_identical_clones_let_git_pack_once(world, ann, bob, base, git_url, tmp_path, git_log, version):
    url = f"{git_url}/ann/app.git"

    async def clone(name, person=ann):
        protocol = ("-c", f"protocol.version={version}")
        return await git(*protocol, "clone", "-q", url, name, cwd=tmp_path, person=person, check=False)

    def runs():
        """Of the git that makes a pack."""
        verb = {0: "upload-pack", 2: "pack-objects"}[version]
        return sum(verb in one and "--http-backend-info-refs" not in one for one in git_log)

    results = await asyncio.gather(*(clone(f"copy{number}") for number in range(4)))
    assert [code for code, _ in results] == [0] * 4
    assert runs() == 1
    # A push is seen at once, and access is asked before.
    await commit(tmp_path / "work", "new.txt")
    await git("push", "-q", url, "HEAD:master", cwd=tmp_path / "work", person=ann)
    await clone("after")
    assert (tmp_path / "after" / "new.txt").exists()
    assert (await clone("of bob", bob))[0] == 0
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert (await clone("refused", bob))[0] == 128


async def test_a_request_never_gets_the_answer_to_another_kind_of_question(ann, base):
    """Nor does a request that git refuses keep the list of refs from others."""
    request = asyncio.create_task(ann.call("POST", "/ann/app/git-upload-pack", content=b"info/refs", headers={
        "content-type": "application/x-git-upload-pack-request"}))  # fmt: skip
    refs = await ann.call("GET", "/ann/app/info/refs?service=git-upload-pack")
    assert refs.status_code == 200
    await asyncio.wait([request])
