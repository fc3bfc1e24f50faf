"""The processes of every service are replaced under load: nothing fails and nothing is lost, however slow the
start.

It takes minutes: `make restarts`. tests/cluster does it on a real cluster, with the same load. A 503 after
the timeout of a call between services is no failure here. With ten processes on two busy cores, calls take as
long without a restart.
"""

import asyncio
import compileall
import os
import subprocess
from itertools import pairwise
from pathlib import Path

import asyncpg
import pytest

from ingot_contracts.topology import SERVICES
from ingot_standalone.schemas import SCHEMAS

from ..cluster.load import Load
from ..deploy.test_expansion import LAST_RELEASE
from .deployments import ADMINISTRATOR, CHEAP_PASSWORDS
from .main_job import MainJob
from .rolling_updates import updating

VARIABLES = CHEAP_PASSWORDS | {"INGOT_HANDOVER_SECONDS": "1"}
ROOT = Path(__file__).parents[2]
PAUSE = 1.0
pytestmark = pytest.mark.skipif(not os.environ.get("INGOT_RESTARTS"), reason="takes minutes: make restarts")
LONG_SECONDS = 1.0


async def test_each_service_is_replaced_under_load_and_nothing_fails(backing_servers, tmp_path):
    async with updating(tmp_path, backing_servers(), VARIABLES) as update:
        url = update.cluster.url
        work = Load(url, ADMINISTRATOR, tmp_path, long_seconds=LONG_SECONDS, pause=PAUSE)
        await work.prepare()
        async with work.running():
            for service in SERVICES:
                await update.begin(service)
                await update.end(service)
                await work.goes_on()
                print(f"{service} replaced: {work.report()}")
        assert not work.failures + work.refused_soon, "\n".join(work.failures + work.refused_soon)
        assert await work.lost() == []


def check_out_the_last_release(folder: Path) -> str:
    """Check out the code of the last release, and return it as a PYTHONPATH. Skip without a history.

    It is the commit before the first migration since that release, or HEAD if there is none.
    """
    later = [
        str(script.relative_to(ROOT))
        for service, revision in LAST_RELEASE.items()
        for script in (SCHEMAS[service] / "versions").glob("[0-9]*.py")
        if script.name[:4] > revision
    ]

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout

    try:
        commit = "HEAD"
        if later:
            first, *_ = git("log", "--diff-filter=A", "--reverse", "--format=%H", "--", *later).split()
            commit = f"{first}^"
        git("archive", f"--output={folder}/code.tar", commit, "libs", "services")
    except (OSError, subprocess.CalledProcessError, ValueError):
        pytest.skip("the history of this project is not here")
    subprocess.run(["tar", "-xf", folder / "code.tar", "-C", folder], check=True)
    compileall.compile_dir(folder, quiet=1)  # once, and not in each process
    return ":".join(str(source) for source in folder.glob("*/*/src"))


async def revision_of(url: str) -> str:
    connection = await asyncpg.connect(url.replace("+asyncpg", ""), ssl=False)
    try:
        return str(await connection.fetchval("SELECT version_num FROM alembic_version"))
    finally:
        await connection.close()


SIDE_BY_SIDE = {
    "create_an_organization": "identity",
    "create_repositories": "repos",
    "clone_it_back": "issues",
    "fork": "hooks",
    "open_a_pull_request": "web",
    "see_the_merge": "gateway",
    "push_to_the_organization": "",
}
"""From this step on the service has a process of each release. The service before it has only the new one."""


async def test_the_main_job_goes_on_while_services_come_from_the_last_release(
    backing_servers, tmp_path, receiver
):
    """Callees are replaced before their callers. Each service is migrated while its old process runs."""
    release = tmp_path / "release"
    release.mkdir()
    old, servers = await asyncio.to_thread(check_out_the_last_release, release), backing_servers()
    async with updating(tmp_path, servers, VARIABLES | {"PYTHONPATH": old}) as update:
        revisions = {service: await revision_of(servers.database_urls[service]) for service in LAST_RELEASE}
        assert revisions == LAST_RELEASE

        def step(before: str, service: str):
            async def act() -> None:
                if before:
                    await update.end(before)
                if service in LAST_RELEASE:
                    await asyncio.to_thread(update.cluster.migrate, service, {"PYTHONPATH": ""})
                if service:
                    await update.begin(service, {"PYTHONPATH": ""})

            return act

        services = ["", *SIDE_BY_SIDE.values()]
        acts = [step(before, service) for before, service in pairwise(services)]
        job = MainJob(update.cluster.url, tmp_path, receiver)
        await job.run(before=dict(zip(SIDE_BY_SIDE, acts, strict=True)))
