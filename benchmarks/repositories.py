"""The cost of repositories: files, branches, archives, and the search over 100,000 of them.

The figure is CPU of all server processes per request, next to its bound. It is also a multiple of ``GET
/version`` in the same run. On a busy machine, compare only the multiples.

``python benchmarks/repositories.py [--requests N] [--only archives] [--check]``.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import text

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import processor  # noqa: E402
import run  # noqa: E402

from ingot_chassis.db.database import Database  # noqa: E402
from ingot_repos.catalog.store.tables import metadata  # noqa: E402

FILES, COMMITS, BRANCHES = 300, 100, 34
PARTS = ("archives", "requests")
REPOSITORIES = 100_000
ARCHIVE_MIB = 128
MAX_GROWTH = 16 * 2**20
"""Bytes by which a process may grow while it streams an archive of any size."""
OWNER = run.ADMINISTRATOR[0]

CASES = (
    run.Case("GET /version", "/api/v1/version", 150e-6),
    run.Case("GET a raw file", "/api/v1/repos/{owner}/bench/raw/master/src/file7.txt", 1e-3),
    run.Case("GET a raw file with a token", "/api/v1/repos/{owner}/bench/raw/master/src/file7.txt", 1e-3,
             authorized=True),
    run.Case("GET 34 branches", "/api/v1/repos/{owner}/bench/branches?limit=50", 2e-3),
    run.Case("GET one branch", "/api/v1/repos/{owner}/bench/branches/branch/7", 1e-3),
    run.Case("GET a cached archive", "/api/v1/repos/{owner}/bench/archive/master.tar.gz", 2e-3),
    run.Case("GET a search for a name among 100,000", "/api/v1/repos/search?q=needle", 9e-3),
    run.Case("GET the first page of all 100,000", "/api/v1/repos/search", 60e-3),
)  # fmt: skip


def git(*arguments: str, cwd: Path) -> str:
    names = {f"GIT_{role}_{part}": "bench" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1", "NO_PROXY": "*"}
    done = subprocess.run(
        ["git", *arguments], cwd=cwd, env=environment | names, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def write(work: Path, name: str, content: bytes) -> None:
    (work / name).parent.mkdir(parents=True, exist_ok=True)
    (work / name).write_bytes(content)


def push(url: str, token: str, work: Path, name: str) -> None:
    header = f"http.extraHeader=Authorization: token {token}"
    git("-c", header, "push", "-q", "--force", f"{url}{OWNER}/{name}.git", "--all", cwd=work)


def push_repositories(client: httpx.Client, url: str, token: str, folder: Path) -> None:
    """Push the repository of the cases, with branches, and a large one."""
    work = folder / "bench"
    work.mkdir()
    git("init", "-q", "-b", "master", cwd=work)
    for number in range(FILES):
        write(work, f"src/file{number}.txt", f"line of {number}\n".encode() * 50)
    for number in range(COMMITS):
        write(work, "log.txt", f"{number}\n".encode())
        git("add", ".", cwd=work)
        git("commit", "-q", "-m", f"change {number}", cwd=work)
    for number in range(BRANCHES - 1):
        git("branch", f"branch/{number}", cwd=work)
    push(url, token, work, "bench")
    client.post("api/v1/user/repos", json={"name": "large"}).raise_for_status()
    large = folder / "large"
    large.mkdir()
    git("init", "-q", "-b", "master", cwd=large)
    for number in range(ARCHIVE_MIB // 4):
        write(large, f"{number}.bin", os.urandom(4 * 2**20))
    git("add", ".", cwd=large)
    git("commit", "-q", "-m", "large", cwd=large)
    push(url, token, large, "large")


async def fill(database_url: str, owner_id: int) -> None:
    """Add ``REPOSITORIES`` rows; every thousandth is a needle."""
    database = Database(database_url, metadata)
    async with database.transaction() as tx:
        await tx.execute(
            text(
                "INSERT INTO repository (owner_id, name, lower_name, description, website, private, empty, "
                "archived, mirror, default_branch, size, stars_count, forks_count, watchers_count, "
                "open_issues_count, state, shard, ref_version, created_at, updated_at)"
                " SELECT :owner, name, name, '', '', false, true, false, false, 'master', n, 0, 0, 0, 0, "
                "'ready', 'shard-0', 0, now(), now() FROM (SELECT n, CASE WHEN n % 1000 = 0 THEN 'needle-' "
                f"ELSE 'straw-' END || n AS name FROM generate_series(1, {REPOSITORIES}) AS n) AS named"
            ),
            {"owner": owner_id},
        )
    async with database.read() as db:
        await db.execute(text("ANALYZE"))
    await database.close()


def peaks() -> dict[int, int]:
    """Return the largest resident memory of each server process so far, in bytes."""
    sizes = {}
    for pid in processor.descendants(os.getpid()):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        line = next((line for line in lines if line.startswith("VmHWM")), "VmHWM: 0 kB")
        sizes[pid] = int(line.split()[1]) * 1024
    return sizes


def download(client: httpx.Client, name: str) -> tuple[int, dict[str, int]]:
    """Download an archive. Return its bytes, and the growth of each program in bytes if it is more than 1
    MiB."""
    for pid in processor.descendants(os.getpid()):
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # resets the peak to the current size (proc(5))
    before = peaks()
    size = 0
    with client.stream("GET", f"api/v1/repos/{OWNER}/large/archive/{name}") as answer:
        answer.raise_for_status()
        for chunk in answer.iter_raw():
            size += len(chunk)
    after = peaks()
    grown: dict[str, int] = {}
    for pid in before.keys() & after.keys():
        if (growth := after[pid] - before[pid]) > 2**20:
            program = next(iter(processor.by_program({pid})))
            grown[program] = max(growth, grown.get(program, 0))
    return size, grown


def measure_requests(deployment: Any, token: str, requests: int) -> bool:
    """Print the costs of the cases. Return True if all are within their bounds."""
    within, version = True, 0.0
    print(f"{'request (all processes)':<42}{'CPU':>11}{'bound':>11}{'to version':>11}{'rate':>10}")
    for case in CASES:
        figure = run.measure(case, deployment.url, token, requests if case.bound < 5e-3 else requests // 10)
        spent = figure.processor(case)
        version = version or spent
        within = within and (case is CASES[0] or spent <= case.bound)
        print(
            f"{case.name:<42}{spent * 1e6:>8.0f} µs{case.bound * 1e6:>8.0f} "
            f"µs{spent / version:>11.1f}{figure.rate:>8.0f}/s"
        )
        print(f"    µs by program: {figure.shares()}", flush=True)
    return within


def measure_archives(client: httpx.Client) -> bool:
    """Print the growth of processes while they stream archives. Return True if all are within the bound."""
    within = True
    for name in ("master.tar.gz", "master.tar.gz", "master.zip"):
        size, grown = download(client, name)
        within = within and all(
            growth <= MAX_GROWTH for program, growth in grown.items() if program in ("repos", "gateway")
        )
        programs = ", ".join(f"{program} {growth / 2**20:.0f} MiB" for program, growth in grown.items())
        print(f"{name} of {size / 2**20:.0f} MiB: peak memory grew by {programs or 'nothing'}", flush=True)
    return within


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=4000, help="of each kind and round")
    parser.add_argument("--only", choices=PARTS, help="measure one part of it")
    parser.add_argument("--check", action="store_true", help="fail if a figure is above its bound")
    options = parser.parse_args()
    parts = (options.only,) if options.only else PARTS
    within = True
    with run.cluster() as deployment, tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder:
        token = run.create_repository_and_token(deployment.url)
        with httpx.Client(
            base_url=deployment.url, headers={"Authorization": f"token {token}"}, timeout=300, trust_env=False
        ) as client:
            push_repositories(client, deployment.url, token, Path(folder))
            if "archives" in parts:
                within = measure_archives(client)
            owner_id = client.get("api/v1/user").raise_for_status().json()["id"]
        if "requests" in parts:
            asyncio.run(fill(deployment.backing_servers.database_urls["repos"], owner_id))
            within = measure_requests(deployment, token, options.requests) and within
    if options.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
