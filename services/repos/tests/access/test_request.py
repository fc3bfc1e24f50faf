"""Limits of expensive requests that one caller may run in parallel."""

import asyncio
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from ..world import commit, git, work_tree

pytestmark = pytest.mark.both_databases

PACK = "application/x-git-upload-pack-request"


@pytest.fixture
def settings():
    return {"git_concurrency_per_caller": 2}


@pytest.fixture
async def app(ann, git_url, tmp_path):
    """ann/app, with a file that is streamed and a branch ahead; gives its id."""
    created = await ann.create("app")
    work = await work_tree(tmp_path)
    await commit(work, "large.bin", "x" * 2_000_000)
    await git("checkout", "-q", "-b", "topic", cwd=work)
    await commit(work, "b.txt")
    await git("push", "-q", f"{git_url}/ann/app.git", "master", "topic", cwd=work, person=ann)
    return created["id"]


@asynccontextmanager
async def fetching(git_url, headers):
    """A fetch whose request does not come to its end."""
    address = urlsplit(git_url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    lines = [
        "POST /ann/app.git/git-upload-pack HTTP/1.1",
        "Host: repos",
        f"Content-Type: {PACK}",
        "Content-Length: 1000",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    writer.write("\r\n".join([*lines, "", "0"]).encode())
    await writer.drain()
    try:
        yield reader
    finally:
        writer.close()


async def acquired(world, count):
    while sum(world.components.limiter.acquired.values()) != count:
        await asyncio.sleep(0.01)


async def test_a_caller_has_so_many_slots_and_gets_them_back(world, ann, bob, git_url, app):
    async with httpx.AsyncClient(base_url=git_url) as client:

        async def ask(person, path="/ann/app.git/info/refs?service=git-upload-pack"):
            return await client.get(path, headers=person.headers())

        async with fetching(git_url, ann.headers()):
            await acquired(world, 1)
            assert (await ask(ann)).status_code == 200
            async with fetching(git_url, ann.headers()):
                await acquired(world, 2)
                refused = await ask(ann)
                assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
                assert refused.headers["content-type"] == "text/plain; charset=utf-8"
                assert (await ask(ann, "/api/v1/repos/ann/app/raw/none.txt?ref=topic")).status_code == 404
                assert (await ask(ann, "/api/v1/repos/ann/app/raw/topic/b.txt")).status_code == 200
                assert (await ask(bob)).status_code == 200
            await acquired(world, 1)
            assert (await ask(ann)).status_code == 200
        await acquired(world, 0)


async def test_anonymous_callers_are_counted_by_address(world, ann, git_url, app):
    async with httpx.AsyncClient(base_url=git_url) as client:

        async def ask(address):
            path = "/ann/app.git/info/refs?service=git-upload-pack"
            return (await client.get(path, headers={"X-Forwarded-For": address})).status_code

        near = {"X-Forwarded-For": "192.0.2.1"}
        async with fetching(git_url, near), fetching(git_url, near):
            await acquired(world, 2)
            assert (await ask("192.0.2.1"), await ask("192.0.2.2")) == (429, 200)
        await acquired(world, 0)


async def test_every_request_that_costs_much_acquires_a_slot(world, ann, bob, git_url, app):
    tip = (await ann.get("/repos/ann/app/branches/topic")).json()["commit"]["id"]
    heads = {"base_branch": "master", "heads": []}
    compare = {"base_branch": "master", "head_repository_id": app, "head_branch": "topic"}
    merge = {"number": 1, "base_branch": "master", "head_sha": tip, "head_branch": "topic"}
    migration = {"clone_addr": "https://example.org/a.git", "repo_name": "new"}
    costly = [
        lambda: ann.get("/repos/ann/app/archive/master.zip"),
        lambda: ann.get("/repos/ann/app/raw/master/large.bin"),
        lambda: ann.get("/repos/ann/app/git/trees/master?q=a"),
        lambda: ann.call("GET", "/ann/app.git/info/refs?service=git-receive-pack"),
        lambda: ann.post("/repos/ann/app/forks"),
        lambda: ann.post("/repos/migrate", migration),
        lambda: ann.internal("POST", f"{app}/compare", compare),
        lambda: ann.internal("POST", f"{app}/comparisons", heads),
        lambda: ann.internal("POST", f"{app}/merge", merge),
        lambda: ann.internal("GET", f"{app}/diff?base=&head={tip}"),
        lambda: ann.internal("GET", f"{app}/files?base=&head={tip}"),
    ]
    async with fetching(git_url, ann.headers()), fetching(git_url, ann.headers()):
        await acquired(world, 2)
        assert [(await ask()).status_code for ask in costly] == [429] * len(costly)
        assert (await ann.internal("POST", f"{app}/compare?unattended=true", compare)).status_code == 200
    await acquired(world, 0)
    assert (await ann.get("/repos/ann/app/archive/master.zip")).status_code == 200
    async with fetching(git_url, ann.headers()), fetching(git_url, ann.headers()):
        await acquired(world, 2)
        assert (await ann.get("/repos/ann/app/archive/master.zip")).status_code == 200  # it was kept
    await acquired(world, 0)


async def test_the_limit_holds_for_requests_at_the_same_time(world, ann, git_url, app):
    async with httpx.AsyncClient(base_url=git_url, headers=ann.headers()) as client:
        path = "/api/v1/repos/ann/app/archive/topic.tar.gz"
        answers = await asyncio.gather(*(client.get(path) for _ in range(8)))
    statuses = {answer.status_code for answer in answers}
    assert statuses <= {200, 429}
    assert 200 in statuses
    await acquired(world, 0)
