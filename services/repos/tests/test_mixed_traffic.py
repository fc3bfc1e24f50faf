"""Many pushes and clones at once, over HTTP and SSH, while the repository is packed: git finds nothing wrong afterwards."""

import asyncio
import os
from datetime import timedelta

import pytest

from ingot_repos.git.packs import check_repository, pack_repository

from .ssh_world import Client, Key, ssh_before
from .world import commit, git

EXCHANGES = int(os.environ.get("INGOT_TEST_GIT_EXCHANGES", "8"))
AT_ONCE = 8
PACK_EVERY = 25


@pytest.fixture
def settings():
    return {"git_concurrency_per_caller": 0, "ssh_sessions_per_key": 0, "proposal_wait_seconds": 0}


async def proposed(world, topic):
    """The branch by which issues names a proposal."""
    [proposal] = [row for row in await world.rows("proposal") if row.topic == topic]
    return f"{topic}:{proposal.id}"


async def open_pull_request(person, repository_id, branch, number):
    """What issues does when it hears of a proposal. Without it soon as many wait as one person may have."""
    question = {
        "base_branch": "master",
        "head_repository_id": repository_id,
        "head_branch": branch,
        "number": number,
    }
    answer = await person.internal("POST", f"{repository_id}/compare?unattended=true", question)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_git_finds_nothing_wrong_after_mixed_pushes_and_clones(world, ann, base, git_url, tmp_path):
    """The exchanges are clones, pushes of branches of their own, pushes to one branch, and proposals, in turn."""
    key, path = Key(tmp_path, "ann"), world.components.storage.path(base)
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    slots = asyncio.Semaphore(AT_ONCE)
    tips, refused = set[str](), 0

    async with ssh_before(world) as port:
        client = Client(tmp_path, port, key)

        async def exchange(number):
            nonlocal refused
            folder, is_ssh, kind = f"w{number}", number % 2 == 1, number // 2 % 4
            url = client.url("ann/app") if is_ssh else f"{git_url}/ann/app.git"

            async def run(*args, cwd):
                if is_ssh:
                    return await client.git(*args, cwd=cwd)
                return await git(*args, cwd=cwd, person=ann, check=False)

            async with slots:
                if number % PACK_EVERY == AT_ONCE - 1:
                    await asyncio.to_thread(pack_repository, path, grace=timedelta(days=1))
                if kind == 0:
                    code, said = await run("clone", "-q", url, folder, cwd=tmp_path)
                    assert code == 0, said
                    return
                # Not by links, whose files a push or a packing removes meanwhile.
                await git("clone", "-q", "--no-local", "--single-branch", str(path), folder, cwd=tmp_path)
                work = tmp_path / folder
                tip = await commit(work, f"{number}.bin", os.urandom(20_000).hex())
                ref = {1: f"refs/heads/b{number}", 2: "refs/heads/shared", 3: f"refs/for/master/t{number}"}[
                    kind
                ]
                code, said = await run("push", "-q", url, f"HEAD:{ref}", cwd=work)
                assert code == 0 or kind == 2, said
                if kind == 3:
                    await open_pull_request(ann, base, await proposed(world, f"t{number}"), number)
                refused += code != 0
                tips.add(tip if code == 0 else "")

        await asyncio.gather(*(exchange(number) for number in range(EXCHANGES)))
    assert check_repository(path) == ""
    refs = await git("for-each-ref", "--format=%(objectname)", cwd=path)
    assert tips - {""} <= set(refs.split())
    assert refused < EXCHANGES // 4 + 1
    assert await world.rows("push") == []
