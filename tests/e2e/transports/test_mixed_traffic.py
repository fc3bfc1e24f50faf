"""Many parallel pushes and clones over HTTP and SSH, during repacks and forks: git finds no damage.

INGOT_TEST_GIT_EXCHANGES is their number; `make soak` takes 500.
"""

import asyncio
import os
from contextlib import suppress
from datetime import timedelta

import pytest
from tests.e2e.history import PATIENCE, GitFailed, commit_file, git, refs

from ingot_git.process.errors import PackedByAnother
from ingot_git.storage.packs import pack_repository

EXCHANGES = int(os.environ.get("INGOT_TEST_GIT_EXCHANGES", "20"))
AT_ONCE = 8
PACK_EVERY = 25
BYTES = 20_000
LOOKS = 3


class Traffic:
    """Exchanges with the repository of ``url``, each with a number of its own, and the changes that were
    accepted."""

    def __init__(self, folder):
        self._folder = folder
        self.tips, self.shared, self.proposals = {}, set(), set()

    async def clone(self, person, url, number, *options):
        """A clone over the transport of the person."""
        copy = self._folder / f"copy{number}"
        await person.git("clone", "-q", *options, url, copy, cwd=self._folder)
        return copy

    async def _commit(self, copy, number):
        return await commit_file(copy, f"{number}.bin", os.urandom(BYTES), f"Add {number}")

    async def push_branch(self, person, url, number, *options):
        copy, ref = await self.clone(person, url, number, *options), f"refs/heads/b{number}"
        tip = await self._commit(copy, number)
        await person.git("push", "-q", "origin", f"HEAD:{ref}", cwd=copy)
        self.tips[ref] = tip
        return copy

    async def push_from_shallow_clone(self, person, url, number):
        await self.push_branch(person, url, number, "--depth=1")

    async def replace_branch(self, person, url, number):
        """Push a branch and a tag, then the branch once more with another history."""
        copy = await self.push_branch(person, url, number)
        tag, branch = f"refs/tags/t{number}", f"refs/heads/b{number}"
        await person.git("push", "-q", "origin", f"HEAD:{tag}", cwd=copy)
        self.tips[tag] = self.tips[branch]
        await git("commit", "-q", "--amend", "-m", f"Add {number} otherwise", cwd=copy)
        await person.git("push", "-q", "--force", "origin", f"HEAD:{branch}", cwd=copy)
        self.tips[branch] = (await git("rev-parse", "HEAD", cwd=copy)).strip()

    async def push_shared_branch(self, person, url, number):
        """Push to a branch that others push to. The later push rebases."""
        copy = await self.clone(person, url, number, "--branch=shared")
        await self._commit(copy, number)
        while True:
            try:
                await person.git("push", "-q", "origin", "shared", cwd=copy)
            except GitFailed as error:
                if "rejected]" not in str(error):
                    raise
                await person.git("pull", "-q", "--rebase", cwd=copy)
            else:
                self.shared.add((await git("rev-parse", "HEAD", cwd=copy)).strip())
                return

    async def propose(self, person, url, number):
        copy = await self.clone(person, url, number)
        tip = await self._commit(copy, number)
        await person.git("push", "-q", "origin", f"HEAD:refs/for/main/p{number}", cwd=copy)
        self.proposals.add(tip)


async def heads_of_pulls(person, path):
    """The commits of all open pull requests."""
    heads, page = [], 1
    while pulls := await person.call("GET", f"{path}/pulls?state=open&limit=50&page={page}"):
        heads += [pull["head"]["sha"] for pull in pulls]
        page += 1
    return heads


def files_of(deployment, repository):
    """Return the folder of a repository on the disk."""
    patterns = (
        f"{root}/*/*/{repository['id']}.git" for root in ("repositories", "repositories/repositories")
    )
    (path,) = (path for pattern in patterns for path in deployment.folder.glob(f"*/{pattern}"))
    return path


async def damage(path):
    """Return what git reports after reading all objects.

    Objects that move during a check may look missing, so only faults that every check finds are damage.
    """
    said = ""
    for _ in range(LOOKS):
        try:
            return await git("fsck", "--full", "--no-dangling", "--no-progress", cwd=path)
        except GitFailed as error:
            said = str(error)
    return said


@pytest.mark.parametrize("transport", ["ssh"], indirect=True)
async def test_git_finds_nothing_wrong_after_mixed_pushes_and_clones(deployment, ann, bob, app, tmp_path):
    await ann.git("push", "-q", "origin", "main:shared", cwd=app.work)
    traffic, slots = Traffic(tmp_path), asyncio.Semaphore(AT_ONCE)
    path = files_of(deployment, app.repository)
    kinds = (traffic.clone, traffic.push_branch, traffic.push_shared_branch, traffic.propose,
             traffic.push_from_shallow_clone, traffic.replace_branch)  # fmt: skip

    async def exchange(number):
        async with slots:
            if number % PACK_EVERY == AT_ONCE - 1:
                with suppress(PackedByAnother):
                    await asyncio.to_thread(pack_repository, path, grace=timedelta(days=1))
            person = ann.over("ssh" if number % 2 else "http")
            await kinds[number // 2 % len(kinds)](person, person.url(app.repository), number)

    async with asyncio.TaskGroup() as tasks:
        copying = tasks.create_task(bob.fork(app.path))
        for number in range(EXCHANGES):
            tasks.create_task(exchange(number))

    async with asyncio.timeout(PATIENCE):
        while sorted(await heads_of_pulls(ann, app.path)) != sorted(traffic.proposals):
            await asyncio.sleep(0.1)
    listed = await ann.refs(app.repository)
    pulls = {name: listed.pop(name) for name in [*listed] if name.startswith("refs/pull/")}
    assert set(pulls.values()) == traffic.proposals
    shared = listed.pop("refs/heads/shared")
    assert listed == traffic.tips | {"refs/heads/main": app.commits[-1]}
    for transport in ("http", "ssh"):
        person, copy = ann.over(transport), tmp_path / f"{transport}.git"
        await person.git("clone", "-q", "--mirror", person.url(app.repository), copy, cwd=tmp_path)
        await git("fsck", "--full", "--strict", cwd=copy)
        assert await refs(copy) == listed | {"refs/heads/shared": shared}
    history = (await git("rev-list", "shared", cwd=copy)).split()
    assert set(history) == traffic.shared | set(app.commits)
    for repository in (app.repository, copying.result()):
        assert await damage(files_of(deployment, repository)) == ""
