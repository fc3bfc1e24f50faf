"""A repository moves to another shard under pushes and clones through the gateway, and none of them fails."""

import asyncio
import secrets

import httpx
import pytest

from .deployments import ADMINISTRATOR, Cluster
from .history import commit_file, git


async def test_a_repository_moves_while_it_is_used(deployment, tmp_path):
    if not isinstance(deployment, Cluster):
        pytest.skip("one process has one shard")
    name, (user, password) = f"moved-{secrets.token_hex(3)}", ADMINISTRATOR
    url = (
        deployment.url.replace("://", f"://{user}:{password.replace(' ', '%20')}@", 1) + f"{user}/{name}.git"
    )
    async with httpx.AsyncClient(base_url=f"{deployment.url}api/v1/", timeout=60, auth=ADMINISTRATOR) as api:
        created = (await api.post("user/repos", json={"name": name, "private": True})).json()
        target = "shard-1" if deployment.shard_of(created["id"]) == "shard-0" else "shard-0"
        work = tmp_path / "work"
        work.mkdir()
        await git("init", "-q", "-b", "main", cwd=work)
        is_over, tips = asyncio.Event(), []

        async def use():
            while not is_over.is_set():
                tips.append(await commit_file(work, "a.txt", str(len(tips)).encode(), "one more"))
                await git("push", "-q", url, "main", cwd=work)
                await git("clone", "-q", "--bare", url, f"copy{len(tips)}", cwd=tmp_path)

        async def move():
            try:
                return await asyncio.to_thread(deployment.shards, "move", f"{user}/{name}", "--to", target)
            finally:
                is_over.set()

        _, said = await asyncio.gather(use(), move())
        assert said.endswith(": moved\n")
        await git("clone", "-q", url, "clone", cwd=tmp_path)
        assert (await git("log", "--format=%H", cwd=tmp_path / "clone")).split() == tips[::-1]
        await git("fsck", "--full", cwd=tmp_path / "clone")
        assert (await api.get(f"repos/{user}/{name}/branches/main")).json()["commit"]["id"] == tips[-1]
        async with httpx.AsyncClient(base_url=f"{deployment.url}api/v1/") as nobody:
            assert (await nobody.get(f"repos/{user}/{name}")).status_code == 404
