"""The bundle of a large repository: which clones are told of it, who gets it, and what is in it."""

import asyncio
import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta

import pygit2
import pytest

from ingot_git.protocol.bundle_uris import list_of_bundles
from ingot_git.protocol.fetch_requests import BUNDLE_URI, FetchRequest
from ingot_git.protocol.smart_http import FLUSH, pkt_line
from ingot_git.testing import builders

from ..world import git, work_tree

REFS = "/ann/app.git/info/refs?service=git-upload-pack"
BUNDLE = "/ann/app.git/clone.bundle"
VERSION_2 = {"git-protocol": "version=2"}
OF_FETCH = VERSION_2 | {"content-type": "application/x-git-upload-pack-request"}
CLIENT = re.findall(r"\d+", subprocess.check_output(["git", "version"], text=True))
CAPABILITIES = pkt_line(b"agent=git/2.47.3") + pkt_line(b"object-format=sha1")
COMMAND, DELIMITER = pkt_line(b"command=bundle-uri\n"), b"0001"
REQUEST = CAPABILITIES + COMMAND + DELIMITER + FLUSH
"""As git sends it."""
LINES = (b"bundle.version=1", b"bundle.mode=all", b"bundle.base.uri=clone.bundle")
LIST = b"".join(map(pkt_line, LINES)) + FLUSH
LONG_AGO, LATER = datetime(2020, 2, 3, tzinfo=UTC), datetime.now(UTC) + timedelta(days=9)
OLD_FILES = {f"{number}.txt": b"%d\n" % number for number in range(10)}


@pytest.fixture
def settings():
    return {"bundle_min_bytes": 1}


class Work:
    """The work tree of ann/app, which is private; ``push`` makes a commit the newest of its branch."""

    def __init__(self, person, url, folder):
        self.person, self.url, self.folder = person, f"{url}/ann/app.git", folder
        self.repo = pygit2.Repository(str(folder))

    def commit(self, time, files, *parents):
        who = pygit2.Signature("Ann", "ann@example.org", int(time.timestamp()))
        tree = self.repo[builders.commit(self.repo, files)].tree_id
        return str(self.repo.create_commit(None, who, who, "x\n", tree, list(parents)))

    async def push(self, commit):
        await git("push", "-q", self.url, f"+{commit}:refs/heads/master", cwd=self.folder, person=self.person)


@pytest.fixture
async def work(ann, git_url, tmp_path):
    await ann.create("app", private=True)
    return Work(ann, git_url, await work_tree(tmp_path))


@pytest.fixture
async def both_tips(work):
    """The ids of a commit of long ago and of one behind it, which is the newest."""
    old = work.commit(LONG_AGO, OLD_FILES)
    new = work.commit(LATER, OLD_FILES | {"new.txt": b"new\n"}, old)
    await work.push(new)
    return old, new


async def capabilities(person):
    return (await person.call("GET", REFS, headers=VERSION_2)).content


async def bundles(person):
    answer = await person.call("POST", "/ann/app.git/git-upload-pack", content=REQUEST, headers=OF_FETCH)
    assert answer.status_code == 200, answer.text
    return answer.content


def object_counts(repository):
    """Return the number of objects in each pack: the last number of the first table of its index."""
    indexes = (repository / ".git" / "objects" / "pack").glob("*.idx")
    return sorted(int.from_bytes(index.read_bytes()[8 + 255 * 4 : 8 + 256 * 4]) for index in indexes)


@pytest.mark.skipif(tuple(map(int, CLIENT[:2])) < (2, 38), reason="this git takes no bundle")
async def test_a_clone_reads_the_bundle_and_fetches_only_the_rest(ann, work, both_tips, tmp_path):
    assert (await capabilities(ann)).endswith(b"000fbundle-uri\n0000")
    assert await bundles(ann) == LIST
    bundle_uri = f"--bundle-uri={work.url}/clone.bundle"
    await git("clone", "-q", bundle_uri, work.url, "copy", cwd=tmp_path, person=ann)
    copy = tmp_path / "copy"
    assert (await git("rev-parse", "refs/bundles/bundle", "HEAD", cwd=copy)).split() == list(both_tips)
    rest, bundle = object_counts(copy)
    # Of the rest there are a commit, a tree and a file, and what they are deltas to.
    assert (rest < 6, bundle) == (True, len(OLD_FILES) + 2)


@pytest.mark.skipif(tuple(map(int, CLIENT[:2])) < (2, 40), reason="this git does not ask for bundles")
async def test_a_client_that_asks_finds_the_bundle_by_itself(ann, work, both_tips, tmp_path):
    asking = ("-c", "transfer.bundleURI=true")
    await git(*asking, "clone", "-q", work.url, "copy", cwd=tmp_path, person=ann)
    refs = await git("rev-parse", "refs/bundles/bundle", "HEAD", cwd=tmp_path / "copy")
    assert refs.split() == list(both_tips)


async def test_only_who_may_read_the_repository_gets_its_bundle(world, ann, bob, both_tips):
    nobody = world.user(0, "")
    refused = await nobody.call("GET", BUNDLE)
    assert (refused.status_code, "www-authenticate" in refused.headers) == (401, True)
    assert (await bob.call("GET", BUNDLE)).status_code == 404
    assert (await ann.call("GET", BUNDLE)).content.startswith(b"# v2 git bundle\n")
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": False})
    assert [(await one.call("GET", BUNDLE)).status_code for one in (nobody, bob)] == [200, 200]


@pytest.mark.parametrize(
    "settings",
    [{}, {"bundle_min_bytes": 0}, {"bundle_min_bytes": 1, "fetch_cache_bytes": 1000}],
    ids=["small", "off", "too large to be shared"],
)
async def test_no_other_repository_has_one(ann, both_tips):
    assert b"bundle-uri" not in await capabilities(ann)
    assert await bundles(ann) == FLUSH
    assert (await ann.call("GET", BUNDLE)).status_code == 404


async def test_a_repository_that_is_deleted_meanwhile_has_none(world, ann, both_tips):
    shutil.rmtree(world.components.storage.path(1))
    assert (await ann.call("GET", BUNDLE)).status_code == 404


async def test_commits_that_the_branch_has_lost_are_in_no_bundle(ann, work, both_tips):
    old, _ = both_tips
    assert old.encode() in (await ann.call("GET", BUNDLE)).content
    other = work.commit(LONG_AGO, {"other.txt": b"other\n"})
    await work.push(other)
    content = (await ann.call("GET", BUNDLE)).content
    assert (other.encode() in content, old.encode() in content) == (True, False)
    await work.push(work.commit(LATER, {"other.txt": b"other\n"}))
    assert await bundles(ann) == FLUSH
    assert (await ann.call("GET", BUNDLE)).status_code == 404


async def test_git_packs_it_once_for_all_clones_and_whatever_is_pushed(ann, work, both_tips, git_log):
    _, new = both_tips
    answers = await asyncio.gather(*(ann.call("GET", BUNDLE) for _ in range(4)))
    await work.push(work.commit(LATER, OLD_FILES, new))
    answers.append(await ann.call("GET", BUNDLE))
    assert len({answer.content for answer in answers}) == 1
    assert sum("pack-objects" in line and "--quiet" in line for line in git_log) == 1


@pytest.mark.parametrize(
    ("request_of_client", "is_for_bundles"),
    [
        (REQUEST, True),
        (COMMAND + CAPABILITIES + FLUSH, True),
        (COMMAND, True),
        (pkt_line(b"command=ls-refs\n") + CAPABILITIES + DELIMITER + COMMAND + FLUSH, False),
        (pkt_line(b"command=fetch") + COMMAND + FLUSH, False),
        (CAPABILITIES + DELIMITER + COMMAND + FLUSH, False),
        (FLUSH + COMMAND, False),
        (COMMAND[:-1], False),
        (b"", False),
    ],
)
def test_only_the_command_asks_for_bundles(request_of_client, is_for_bundles):
    assert (FetchRequest(request_of_client).command == BUNDLE_URI) is is_for_bundles


def test_there_may_be_none():
    assert list_of_bundles(None) == FLUSH
