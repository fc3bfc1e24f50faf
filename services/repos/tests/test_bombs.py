"""Small pushes that expand: few objects that unfold to billions of files, deep folders, very many refs.

Every request for them gets a response at a bounded cost, and this process never holds them whole.
"""

import os
import re
import resource
import subprocess
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import FileMode

from .world import git

WHOLE = os.environ.get("INGOT_BOMBS") == "whole"
LEVELS = 10 if WHOLE else 3
MANY_REFS = 100_000 if WHOLE else 20_000
DEPTH = 5000
BLOB_BYTES = 40 * 1024 * 1024
ANSWER_BYTES = 4 * 1024 * 1024
MORE_BYTES = 64 * 1024 * 1024
"""The largest growth of this process during the test."""
REQUEST_SECONDS = 25.0 if WHOLE else 3.0
"""Of the processor, that one request may take, with its git. Files of the whole bomb are counted for 20 s."""
READS = [
    "", "/branches", "/branches/master", "/commits", "/commits?stat=false", "/commits/{sha}/status",
    "/git/commits/{sha}", "/git/commits/{sha}.diff", "/compare/{sha}...master", "/contents", "/contents/a",
    "/contents-ext?includes=file_content", "/git/trees/{sha}",
    "/git/trees/{sha}?recursive=true&per_page=1000", "/git/trees/{sha}?recursive=1&page=9000000",
    "/languages", "/licenses", "/editorconfig/a", "/raw/a/a/a", "/blame/a", "/archive/master.tar.gz",
    "/archive/master.zip", "/code/search?q=x",
]  # fmt: skip
"""Routes that walk through trees."""


def peak_bytes():
    """The most that this process had in memory since ``forget_peak``."""
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def forget_peak():
    Path("/proc/self/clear_refs").write_text("5")
    return peak_bytes()


class Work:
    """The CPU of this process and its git processes for requests, by path."""

    def __init__(self, person):
        self.person, self.seconds = person, {}

    async def get(self, path):
        before = processor_seconds()
        answer = await self.person.get(path)
        self.seconds[path] = processor_seconds() - before
        return answer

    def is_bounded(self):
        return max(self.seconds.values()) < REQUEST_SECONDS


def processor_seconds():
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def billions_of_files(repo):
    """Ten folders with ten folders each, and so on: 10^10 files of eleven objects."""
    blob, mode = repo.create_blob(b"boom\n"), FileMode.BLOB
    for _ in range(LEVELS):
        builder = repo.TreeBuilder()
        for name in "abcdefghij":
            builder.insert(name, blob, mode)
        blob, mode = builder.write(), FileMode.TREE
    return str(blob)


def deep_folders(repo):
    """A file below so many folders that no path of an operating system holds its name."""
    text = (
        "commit refs/heads/deep\ncommitter me <me@example.org> 1700000000 +0000\ndata 0\n"
        f"M 100644 inline {'/'.join('a' * (DEPTH + 1))}\ndata 5\ndeep\n\n"
    )
    command = ["git", "-C", repo.path, "fast-import", "--quiet"]
    subprocess.run(command, input=text.encode(), check=True)
    return str(repo.revparse_single("deep^{tree}").id)


def one_large_file(repo):
    """So much of nothing that it is a thousandth of its size in a pack."""
    builder = repo.TreeBuilder()
    builder.insert("a", repo.create_blob(bytes(BLOB_BYTES)), FileMode.BLOB)
    return str(builder.write())


def tip_of(repo, tree):
    """A commit of the tree on the branch master."""
    me = pygit2.Signature("me", "me@example.org", 1_700_000_000, 0)
    tip = str(repo.create_commit(None, me, me, "boom\n", tree, []))
    repo.references.create("refs/heads/master", tip, force=True)
    return tip


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("unfolded", [billions_of_files, deep_folders, one_large_file])
async def test_what_unfolds_is_never_held_whole(world, ann, git_url, tmp_path, unfolded):
    created = await ann.create("app", auto_init=True)
    by_push = WHOLE or unfolded is one_large_file  # git takes long over the others
    repository = (
        pygit2.init_repository(str(tmp_path / "work"))
        if by_push
        else world.components.storage.open(created["id"])
    )
    tip = tip_of(repository, unfolded(repository))
    before = forget_peak()
    if by_push:
        await git("push", "-qf", f"{git_url}/ann/app.git", "master", cwd=tmp_path / "work", person=ann)
    is_endless = (
        WHOLE and unfolded is billions_of_files
    )  # an archive of it ends at the limit of its time alone
    reads = [path for path in READS if not (is_endless and "/archive/" in path)]
    work = Work(ann)
    answers = {path: await work.get(f"/repos/ann/app{path.format(sha=tip)}") for path in reads}
    assert {path: answer.text for path, answer in answers.items() if answer.status_code >= 500} == {}
    assert work.is_bounded(), work.seconds
    assert max(len(answer.content) for answer in answers.values()) < ANSWER_BYTES
    assert peak_bytes() - before < MORE_BYTES


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_very_many_refs_are_read_page_by_page(world, ann, base, git_url, tmp_path):
    repository = world.components.storage.path(base)
    tip = (await git("rev-parse", "master", cwd=repository)).strip()
    names = [f"refs/{kind}/n{number:06}" for kind in ("heads", "tags") for number in range(MANY_REFS // 2)]
    lines = ["# pack-refs with: peeled fully-peeled sorted ", *(f"{tip} {name}" for name in names), ""]
    (repository / "packed-refs").write_text("\n".join(lines))
    before, work = forget_peak(), Work(ann)
    for path in ("/branches?limit=50", "/branches?page=200&limit=50", "/tags?limit=50", "/branches/n000007"):
        answer = await work.get(f"/repos/ann/app{path}")
        assert answer.status_code == 200, answer.text
    assert work.is_bounded(), work.seconds
    listed = await git("ls-remote", f"{git_url}/ann/app.git", cwd=tmp_path, person=ann)
    assert listed.count("\n") > MANY_REFS
    await git(
        "push", "-q", f"{git_url}/ann/app.git", "HEAD:refs/heads/one-more", cwd=tmp_path / "work", person=ann
    )
    assert (await ann.get("/repos/ann/app/branches/one-more")).status_code == 200
    assert peak_bytes() - before < MORE_BYTES
