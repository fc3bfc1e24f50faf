"""What repositories cost: files, branches, archives, and the search over 100,000 of them.

CPU of all server processes per request, beside its bound and as a multiple of ``GET /version`` in the same run, for
on a busy machine only that can be compared. ``python benchmarks/repositories.py [--requests N] [--only archives] [--check]``.
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

from ingot_chassis.database import Database  # noqa: E402
from ingot_repos.store.tables import metadata  # noqa: E402

FILES, COMMITS, BRANCHES = 300, 100, 34
PARTS = ("archives", "requests")
REPOSITORIES = 100_000
ARCHIVE_MIB = 128
FLAT = 16 * 2**20
"""Bytes by which a process may grow while it streams an archive of any size."""
OWNER = run.ADMINISTRATOR[0]

CASES = (
    run.Case("GET /version", "/api/v1/version", 150e-6),
    run.Case("GET a raw file", "/api/v1/repos/{owner}/bench/raw/master/src/file7.txt", 1e-3),
    run.Case("GET a raw file with a token", "/api/v1/repos/{owner}/bench/raw/master/src/file7.txt", 1e-3,
             authorized=True),
    run.Case("GET 34 branches", "/api/v1/repos/{owner}/bench/branches?limit=50", 2e-3),
    run.Case("GET one branch", "/api/v1/repos/{owner}/bench/branches/branch/7", 1e-3),
    run.Case("GET an archive that is kept", "/api/v1/repos/{owner}/bench/archive/master.tar.gz", 2e-3),
    run.Case("GET a search for a name among 100,000", "/api/v1/repos/search?q=needle", 9e-3),
    run.Case("GET the first page of all 100,000", "/api/v1/repos/search", 60e-3),
)  # fmt: skip


def git(*arguments: str, cwd: Path) -> str:
    names = {f"GIT_{who}_{what}": "bench" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    kept = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1", "NO_PROXY": "*"}
    done = subprocess.run(
        ["git", *arguments], cwd=cwd, env=kept | names, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def write(work: Path, name: str, content: bytes) -> None:
    (work / name).parent.mkdir(parents=True, exist_ok=True)
    (work / name).write_bytes(content)


def push(url: str, token: str, work: Path, name: str) -> None:
    header = f"http.extraHeader=Authorization: token {token}"
    git("-c", header, "push", "-q", "--force", f"{url}{OWNER}/{name}.git", "--all", cwd=work)


def furnish(client: httpx.Client, url: str, token: str, folder: Path) -> None:
    """The repository of the cases, with branches; and a large one."""
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
    """So many repositories that they have to be looked up; every thousandth is a needle."""
    database = Database(database_url, metadata)
    async with database.transaction() as tx:
        await tx.execute(
            text(
                "INSERT INTO repository (owner_id, name, lower_name, description, website, private, empty, archived,"
                " mirror, default_branch, size, stars_count, forks_count, watchers_count, open_issues_count, state,"
                " shard, ref_version, created_at, updated_at)"
                " SELECT :owner, name, name, '', '', false, true, false, false, 'master', n, 0, 0, 0, 0, 'ready',"
                " 'shard-0', 0, now(), now() FROM (SELECT n, CASE WHEN n % 1000 = 0 THEN 'needle-' ELSE 'straw-' END"
                f" || n AS name FROM generate_series(1, {REPOSITORIES}) AS n) AS named"
            ),
            {"owner": owner_id},
        )
    async with database.read() as db:
        await db.execute(text("ANALYZE"))
    await database.close()


def peaks() -> dict[int, int]:
    """The most resident memory that each server process had, in bytes."""
    found = {}
    for pid in processor.below(os.getpid()):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        line = next((line for line in lines if line.startswith("VmHWM")), "VmHWM: 0 kB")
        found[pid] = int(line.split()[1]) * 1024
    return found


def download(client: httpx.Client, name: str) -> tuple[int, dict[str, int]]:
    """Bytes of an archive, and by how many bytes processes grew meanwhile, if by more than a MiB."""
    for pid in processor.below(os.getpid()):
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak becomes what there is now (proc(5))
    before = peaks()
    size = 0
    with client.stream("GET", f"api/v1/repos/{OWNER}/large/archive/{name}") as answer:
        answer.raise_for_status()
        for chunk in answer.iter_raw():
            size += len(chunk)
    after = peaks()
    grown: dict[str, int] = {}
    for pid in before.keys() & after.keys():
        if (more := after[pid] - before[pid]) > 2**20:
            program = next(iter(processor.by_program({pid})))
            grown[program] = max(more, grown.get(program, 0))
    return size, grown


def measure_requests(made: Any, token: str, requests: int) -> bool:
    """Print what the cases cost; whether all are within their bounds."""
    within, version = True, 0.0
    print(f"{'request (all processes)':<42}{'CPU':>11}{'bound':>11}{'to version':>11}{'rate':>10}")
    for case in CASES:
        figure = run.measure(case, made.url, token, requests if case.bound < 5e-3 else requests // 10)
        spent = figure.processor(case)
        version = version or spent
        within = within and (case is CASES[0] or spent <= case.bound)
        print(
            f"{case.name:<42}{spent * 1e6:>8.0f} µs{case.bound * 1e6:>8.0f} µs{spent / version:>11.1f}{figure.rate:>8.0f}/s"
        )
        print(f"    µs by program: {figure.shares()}", flush=True)
    return within


def measure_archives(client: httpx.Client) -> bool:
    """Print how processes grow while they stream archives; whether memory is flat."""
    within = True
    for name in ("master.tar.gz", "master.tar.gz", "master.zip"):
        size, grown = download(client, name)
        within = within and all(
            more <= FLAT for program, more in grown.items() if program in ("repos", "gateway")
        )
        told = ", ".join(f"{program} {more / 2**20:.0f} MiB" for program, more in grown.items())
        print(f"{name} of {size / 2**20:.0f} MiB: peak memory grew by {told or 'nothing'}", flush=True)
    return within


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=4000, help="of each kind and round")
    parser.add_argument("--only", choices=PARTS, help="measure one part of it")
    parser.add_argument("--check", action="store_true", help="fail if a figure is above its bound")
    given = parser.parse_args()
    parts = (given.only,) if given.only else PARTS
    within = True
    with run.cluster() as made, tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder:
        token = run.furnish(made.url)
        with httpx.Client(
            base_url=made.url, headers={"Authorization": f"token {token}"}, timeout=300, trust_env=False
        ) as client:
            furnish(client, made.url, token, Path(folder))
            if "archives" in parts:
                within = measure_archives(client)
            owner_id = client.get("api/v1/user").raise_for_status().json()["id"]
        if "requests" in parts:
            asyncio.run(fill(made.around.database_urls["repos"], owner_id))
            within = measure_requests(made, token, given.requests) and within
    if given.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
