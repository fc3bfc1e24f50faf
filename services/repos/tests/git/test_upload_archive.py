"""An archive that git makes for a client: allowed requests, and no pruning while it runs."""

import contextlib

import pygit2
import pytest

from ingot_git.process.bodies import replayed
from ingot_git.process.errors import GitTooExpensive
from ingot_git.protocol.smart_http import pkt_line
from ingot_git.protocol.upload_archive import read_archive_request, upload_archive
from ingot_git.storage.packs import is_in_use
from ingot_git.testing.builders import COSTLY, set_branches
from ingot_git.testing.builders import commit as commit_files

from ..world import commit, git, work_tree

REQUEST = pkt_line(b"argument master\n") + b"0000"


@pytest.fixture
async def path(world, ann, git_url, tmp_path):
    """Return the path of ann/app, with a commit."""
    created = await ann.create("app")
    work = await work_tree(tmp_path)
    await commit(work, "a.txt", "one\n")
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    return world.components.storage.path(created["id"])


async def test_nothing_is_pruned_while_an_archive_is_made(path):
    archive = upload_archive(path, REQUEST, replayed(b""), max_memory=None)
    async with contextlib.aclosing(archive):
        assert (await anext(archive)).startswith(b"0008ACK\n")
        assert is_in_use(path)
    assert not is_in_use(path)


async def test_an_archive_that_takes_too_much_cpu_time_ends(path):
    repo = pygit2.Repository(str(path))
    set_branches(repo, costly=commit_files(repo, COSTLY))
    request = REQUEST.replace(b"0014argument master", b"0014argument costly")
    with pytest.raises(GitTooExpensive):
        _ = [part async for part in upload_archive(path, request, replayed(b""), max_memory=None)]


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_a_request_is_read_to_its_end_and_the_rest_is_left(size):
    async def parts():
        body = REQUEST + b"rest"
        for start in range(0, len(REQUEST), size):
            yield body[start : min(start + size, len(REQUEST))]
        yield b"rest"

    body = parts()
    assert await read_archive_request(body) == REQUEST
    assert await anext(body) == b"rest"


async def test_refs_of_the_service_and_endless_requests_are_refused():
    for name in (b"scratch/x", b"refs/scratch/x"):
        assert await read_archive_request(replayed(pkt_line(b"argument %b\n" % name) + b"0000")) is None
    assert await read_archive_request(replayed(b"x" * 100_000)) is None
