"""An organization of another Ingot moves in by one call while the processes that bring it are killed.

Every object is compared with the source, also after a repeat. ``INGOT_MOVING_IN=whole`` has the size that
`make soak` runs: 20 repositories with 2,000 issues and pull requests. It prints the figures.
"""

import asyncio
import os
import secrets
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from .conftest import VARIABLES
from .deployments import ADMINISTRATOR, Deployment, Standalone, running
from .moved_objects import Objects, allowed_differences, differences, objects_of
from .moved_organization import Size, at_once, fill_organization, organization_objects
from .moved_repository import FILE, LARGE, Owners, People

IS_WHOLE = os.environ.get("INGOT_MOVING_IN") == "whole"
SIZE = Size(20, 80, 20) if IS_WHOLE else Size(2, 5, 5)
KILLS = 30 if IS_WHOLE else 2
PATIENCE = 3_600.0 if IS_WHOLE else 300.0
COUNTS_SECONDS = 60.0
ROOT = ADMINISTRATOR[0]
ENDED = ("done", "failed", "cancelled")
MIB = 1024 * 1024


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Standalone]:
    source = Standalone(tmp_path, VARIABLES)
    with running(source):
        yield source


class Usage:
    """The CPU seconds and the most memory of the processes of a deployment, also of killed ones."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._before = self._seconds()
        self.cpu, self.peaks = 0.0, defaultdict[str, int](int)

    def note(self) -> None:
        """Add what the processes used since the last time."""
        now = self._seconds()
        self.cpu += sum(seconds - self._before.get(process, 0.0) for process, seconds in now.items())
        self._before = now
        for name, process in self._deployment.processes().items():
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
            peak = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
            self.peaks[name] = max(self.peaks[name], peak)

    def _seconds(self) -> dict[int, float]:
        times = {}
        for process in self._deployment.processes().values():
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            times[process] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # proc(5)
        return times


class Killer:
    """Kills a process of repos or issues, one after the other, and starts it again."""

    def __init__(self, deployment: Deployment, usage: Usage) -> None:
        self._deployment, self._usage, self.kills = deployment, usage, 0

    async def kill(self) -> None:
        parts = [one for one in self._deployment.parts if one in ("ingot", "repos", "issues")]
        part = parts[self.kills % len(parts)]
        self._usage.note()
        await asyncio.to_thread(self._deployment.kill, part)
        await asyncio.to_thread(self._deployment.restart, part)
        self.kills += 1


async def ask(here: People, path: str) -> Any:
    """Return an answer, also if a process was just killed."""
    while True:
        try:
            return await here(ROOT, "GET", path)
        except (httpx.TransportError, AssertionError):
            await asyncio.sleep(0.2)


async def move_while_killed(
    here: People, deployment: Deployment, owner: str, name: str, site: str
) -> tuple[dict[str, Any], Usage, int]:
    """Import an organization. Kill a process each time that another part of it has come.

    Return the last state, what it used, and the number of kills.
    """
    switches = ("labels", "milestones", "issues", "pull_requests", "releases", "wiki", "lfs", "teams")
    form = {
        "service": "gitea",
        "address": site,
        "source": name,
        "auth_username": owner,
        "auth_password": f"what {owner} knows",
        **dict.fromkeys(switches, True),
    }
    usage = Usage(deployment)
    begun = await here(ROOT, "POST", "admin/imports", form, 202)
    path, killer = f"admin/imports/{begun['id']}", Killer(deployment, usage)
    async with asyncio.timeout(PATIENCE):
        while (state := await ask(here, path))["status"] not in ENDED:
            listed = await ask(here, f"{path}/repositories?limit=50")
            came = sum(
                count["done"]
                for one in listed
                for kind, count in one["counts"].items()
                if kind in ("issues", "pulls")
            )
            if killer.kills < KILLS and came >= killer.kills * SIZE.texts // (KILLS + 1):
                await killer.kill()
            await asyncio.sleep(0.2)
    usage.note()
    return dict(state), usage, killer.kills


async def wait_for_counts(there: People, here: People, who: str, full_name: str) -> None:
    """Wait until counts of issues, which follow events, are those of the source."""
    counted, root = ("open_issues_count", "open_pr_counter"), f"repos/{full_name}"

    async def counts(people: People) -> list[Any]:
        repository, pulls = await people(who, "GET", root), await people.all(who, f"{root}/pulls?state=open")
        return [*(repository[one] for one in counted), {one["number"]: one["mergeable"] for one in pulls}]

    expected, deadline = await counts(there), time.monotonic() + COUNTS_SECONDS
    while (came := await counts(here)) != expected:
        assert time.monotonic() < deadline, f"{full_name}: {came} instead of {expected}"
        await asyncio.sleep(0.2)


def unknown_differences(was: Objects, is_now: Objects, *headings: str) -> list[str]:
    """Return the differences that the tables below the headings of the docs do not name."""
    rows = [row for heading in headings for row in allowed_differences(heading)]
    return [
        f"{' | '.join(one)} | {example}"
        for one, example in sorted(differences(was, is_now).items())
        if not any(row.describes(one) for row in rows)
    ]


async def compare(
    there: People, here: People, who: str, name: str, sites: tuple[str, str], *headings: str
) -> None:
    """Compare the organization and all objects of its repositories with the source.

    ``headings`` name further tables of the docs.
    """
    was = await organization_objects(there, who, name, sites[0])
    is_now = await organization_objects(here, who, name, sites[1])
    unknown = unknown_differences(was, is_now, "## Organizations")
    assert not unknown, "\n".join(unknown)

    async def of_repository(repository: str) -> list[str]:
        full_name = f"{name}/{repository}"
        await wait_for_counts(there, here, who, full_name)
        left = await objects_of(there, who, full_name, sites[0])
        right = await objects_of(here, who, full_name, sites[1])
        assert left["pull request"]
        assert left["line comment"]
        tables = ("# Differences after an import", "## Repositories of organizations", *headings)
        return [f"{repository}: {one}" for one in unknown_differences(left, right, *tables)]

    groups = await at_once([of_repository(one) for one in SIZE.names])
    unknown = sorted(one for group in groups for one in group)
    assert not unknown, "\n".join(unknown)


async def move_again(there: People, here: People, owners: Owners, name: str) -> None:
    """Add to each repository of the source, and repeat all imports."""
    ann, eve = owners

    async def one(repository: str) -> None:
        root = f"repos/{name}/{repository}"
        await there(eve, "POST", f"{root}/issues", {"title": "a new one"}, 201)
        await there(ann, "PATCH", f"{root}/issues/2", {"title": "another title", "state": "closed"}, 201)
        await there(ann, "POST", f"{root}/issues/3/comments", {"body": "later"}, 201)
        number = (await here(ROOT, "GET", f"{root}/migration"))["id"]
        form = {"auth_username": ann, "auth_password": f"what {ann} knows"}
        await here(ROOT, "POST", f"repos/migrate/{number}/again", form, 202)
        async with asyncio.timeout(PATIENCE):
            while (state := await here(ROOT, "GET", f"repos/migrate/{number}"))["status"] != "done":
                assert state["status"] in ("waiting", "running"), state
                await asyncio.sleep(0.1)
        assert await here(ROOT, "GET", f"repos/migrate/{number}/conflicts") == []

    await at_once([one(repository) for repository in SIZE.names])


async def test_an_organization_of_another_ingot_comes_over_while_processes_are_killed(
    deployment: Any, source: Standalone
) -> None:
    mark = secrets.token_hex(3)
    name, owners = f"lamps-{mark}", Owners(f"ann-{mark}", f"eve-{mark}")
    async with (
        httpx.AsyncClient(base_url=f"{source.url}api/v1/", timeout=60) as far,
        httpx.AsyncClient(base_url=f"{deployment.url}api/v1/", timeout=60) as near,
    ):
        there, here = People(far), People(near)
        for people in (there, here):
            await people.add(*owners)
        await fill_organization(there, owners, name, SIZE)
        began = time.monotonic()
        state, usage, kills = await move_while_killed(here, deployment, owners.ann, name, source.url)
        took = time.monotonic() - began
        listed = await here(ROOT, "GET", f"admin/imports/{state['id']}/repositories?limit=50")
        peaks = {part: f"{peak // MIB} MiB" for part, peak in usage.peaks.items()}
        print(
            f"\n{SIZE.repositories} repositories, {SIZE.texts} issues and pull requests, {kills} kills:"
            f" {took:.0f} s, {usage.cpu:.0f} CPU s, memory {peaks}",
            flush=True,
        )
        assert state["repositories"] == {"done": SIZE.repositories}, listed
        assert state["teams"] == {"done": 4}, state
        assert kills >= 2
        sites = (source.url, deployment.url)
        await compare(there, here, owners.ann, name, sites)
        for repository in SIZE.names:
            root = f"repos/{name}/{repository}"
            [asset] = (await here(owners.ann, "GET", f"{root}/releases/tags/v1"))["assets"]
            assert await here.bytes_at(owners.ann, asset["browser_download_url"]) == FILE
            assert await here.bytes_at(owners.ann, f"{root}/media/large.bin") == LARGE
        await move_again(there, here, owners, name)
        await compare(there, here, owners.ann, name, sites, "## Repeats")
