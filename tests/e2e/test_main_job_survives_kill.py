"""The main job works although processes are killed without warning while it goes on."""

import asyncio
from collections.abc import Callable

import pytest

from .cutting import cut_after
from .history import BIG_FILE, GitFailed
from .main_job import Hook, MainJob

Act = Callable[..., Hook]
pytestmark = pytest.mark.both_deployments


async def test_the_main_job_survives_kill(deployment, tmp_path, receiver):
    job = MainJob(deployment.url, tmp_path, receiver)

    def killed(part: str) -> Hook:
        """It dies, and comes back before the next step."""

        async def act() -> None:
            await asyncio.to_thread(deployment.kill, part)
            await asyncio.to_thread(deployment.restart, part)

        return act

    def gone(part: str) -> Hook:
        return lambda: asyncio.to_thread(deployment.kill, part)

    def back(part: str) -> Hook:
        return lambda: asyncio.to_thread(deployment.restart, part)

    def killed_by_a_push(*parts: str) -> Hook:
        """Each dies in the middle of a push, one after the other."""

        async def act() -> None:
            for part in parts:
                async with cut_after(deployment.url, BIG_FILE // 2, gone(part)) as url:
                    with pytest.raises(GitFailed):
                        await job.push(job.git_url(f"{job.project}.git", job.ann, base=url))
                await back(part)()

        return act

    if deployment.parts == ("ingot",):
        await job.run(
            before={"push_the_history": killed_by_a_push("ingot")},
            after={"close_the_issue": killed("ingot"), "fork": killed("ingot"), "merge_it": killed("ingot")},
        )
    else:
        await job.run(
            before={"push_the_history": killed_by_a_push("gateway", "repos"), "merge_it": gone("hooks")},
            after={
                "make_tokens": killed("identity"),
                "open_an_issue": killed("issues"),
                "fork": killed("repos"),
                "open_a_pull_request": killed("issues"),
                "see_the_merge": back("hooks"),
            },
        )
