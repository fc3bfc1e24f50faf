"""Objects in a real folder and in a real S3-compatible storage."""

import asyncio
import hashlib
import os
import time

import pytest

from ingot_chassis.errors import BadRequest, Invalid, TooLarge
from ingot_chassis.objects.store import ObjectLost, ObjectStore
from ingot_chassis.settings import SettingsError

KEY = "files/12/one"
MEBIBYTE = 1024 * 1024
LARGE = b"0123456789abcdef" * (MEBIBYTE // 2)
"""8 MiB: more than one part, wherever it is stored."""


def open_store(objects_at, prefix="tests"):
    return ObjectStore(
        objects_at["objects_url"],
        prefix=prefix,
        key_id=objects_at.get("objects_key_id", ""),
        secret=objects_at.get("objects_secret", ""),
    )


@pytest.fixture
async def store(objects_at):
    store = open_store(objects_at)
    yield store
    await store.close()


async def chunks_of(content, size=65_536, *, fails=None):
    for start in range(0, len(content), size):
        yield content[start : start + size]
    if fails is not None:
        raise fails


async def read_all(store, key, byte_range):
    return b"".join([part async for part in store.read(key, byte_range)])


async def keys(store, prefix="files"):
    return sorted([listed.key async for page in store.list(prefix) for listed in page])


def files_below(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("content", [b"", b"x", b"some words", LARGE], ids=["0", "1", "10", "8 MiB"])
async def test_what_was_put_is_read_again(store, content):
    stored = await store.put(KEY, chunks_of(content), max_bytes=len(LARGE))
    assert stored == (len(content), hashlib.sha256(content).hexdigest())
    assert await store.size(KEY) == len(content)
    assert await read_all(store, KEY, range(len(content))) == content


@pytest.mark.parametrize(
    "part",
    [
        range(1),
        range(MEBIBYTE - 1, MEBIBYTE + 1),
        range(3, 5 * MEBIBYTE),
        range(len(LARGE) - 1, len(LARGE)),
        range(0),
    ],
)
async def test_a_range_is_read_alone(store, part):
    await store.put(KEY, chunks_of(LARGE), max_bytes=len(LARGE))
    assert await read_all(store, KEY, part) == LARGE[part.start : part.stop]


async def test_an_object_can_be_replaced_and_deleted(store):
    for content in (b"first", b"second"):
        await store.put(KEY, chunks_of(content), max_bytes=10)
    assert await read_all(store, KEY, range(6)) == b"second"
    await store.delete([KEY, "files/never-there"])
    assert await store.size(KEY) is None
    assert await keys(store) == []
    with pytest.raises(ObjectLost):
        await read_all(store, KEY, range(6))


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        ({"max_bytes": len(LARGE) - 1}, TooLarge),
        ({"max_bytes": 100, "length": 101}, TooLarge),
        ({"max_bytes": len(LARGE), "length": len(LARGE) - 1}, BadRequest),
        ({"max_bytes": 2 * len(LARGE), "length": len(LARGE) + 1}, BadRequest),
        ({"max_bytes": len(LARGE), "sha256": "0" * 64}, Invalid),
    ],
)
async def test_what_breaks_a_promise_is_refused_and_leaves_nothing(
    store, objects_at, tmp_path, limits, error
):
    with pytest.raises(error):
        await store.put(KEY, chunks_of(LARGE), **limits)
    assert await store.size(KEY) is None
    assert await keys(store) == []
    assert files_below(tmp_path) == []


async def test_a_source_that_fails_leaves_nothing(store, tmp_path):
    with pytest.raises(ConnectionError):
        await store.put(KEY, chunks_of(LARGE, fails=ConnectionError()), max_bytes=2 * len(LARGE))
    assert await keys(store) == []
    assert files_below(tmp_path) == []


async def test_a_put_that_is_cancelled_leaves_nothing(store, tmp_path):
    reached = asyncio.Event()

    async def endless():
        yield LARGE
        reached.set()
        await asyncio.Event().wait()

    putting = asyncio.create_task(store.put(KEY, endless(), max_bytes=2 * len(LARGE)))
    await reached.wait()
    putting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await putting
    assert await keys(store) == []
    assert files_below(tmp_path) == []


async def test_nobody_reads_an_object_before_it_is_whole(store):
    await store.put(KEY, chunks_of(b"before"), max_bytes=10)
    sizes = []

    async def watched():
        for _ in range(8):
            yield LARGE[:MEBIBYTE]
            sizes.append(await store.size(KEY))

    await store.put(KEY, watched(), max_bytes=len(LARGE))
    assert set(sizes) == {6}
    assert await store.size(KEY) == len(LARGE)


async def test_two_puts_of_one_key_do_not_mix(store):
    contents = [bytes([letter]) * (2 * MEBIBYTE) for letter in b"ab"]
    await asyncio.gather(*(store.put(KEY, chunks_of(each), max_bytes=len(each)) for each in contents))
    assert await read_all(store, KEY, range(2 * MEBIBYTE)) in contents


async def test_a_prefix_is_listed_and_deleted_alone(store, objects_at):
    other = open_store(objects_at, prefix="others")
    for key in ("files/1/a", "files/1/b", "files/12/a", "more/a"):
        await store.put(key, chunks_of(b"x"), max_bytes=1)
    await other.put("files/1/a", chunks_of(b"xy"), max_bytes=2)
    assert await keys(store) == ["files/1/a", "files/1/b", "files/12/a"]
    assert await keys(store, "files/1") == ["files/1/a", "files/1/b"]
    await store.delete_below("files/1")
    assert await keys(store) == ["files/12/a"]
    assert await other.size("files/1/a") == 2
    assert await keys(store, "nothing") == []


@pytest.mark.parametrize(
    "key", ["", "/a", "a/", "a//b", "../a", "a/../b", "a/.b", "A", "a b", "a\0b", "a#1", "ä", "a\n"]
)
async def test_a_key_that_is_not_ours_reaches_no_storage(store, key):
    with pytest.raises(ValueError, match="cannot be the key"):
        await store.put(key, chunks_of(b"x"), max_bytes=1)
    with pytest.raises(ValueError, match="cannot be the key"):
        await store.size(key)


@pytest.mark.parametrize("object_backend", ["folder"], indirect=True)
async def test_what_a_killed_process_left_is_removed_after_a_time(store, tmp_path):
    await store.put(KEY, chunks_of(b"x"), max_bytes=1)
    folder = tmp_path / "objects" / "tests" / "files" / "12"
    for name, age in (("dead#1", 7200), ("busy#1", 0)):
        (folder / name).write_bytes(b"half")
        os.utime(folder / name, (time.time() - age,) * 2)
    assert await keys(store) == [KEY]
    await store.remove_unfinished(3600)
    assert sorted(path.name for path in folder.iterdir()) == ["busy#1", "one"]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "objects",
        "file:objects",
        "file://host/folder",
        "s3:///path",
        "s3://bucket?zone=1",
        "http://host/",
        "file:///proc/none",
    ],
)
def test_a_url_that_names_no_storage_is_a_wrong_setting(url):
    with pytest.raises(SettingsError, match="INGOT_OBJECTS_URL"):
        ObjectStore(url, prefix="tests")
