"""The first push of a large repository, next to the same push to plain bare repositories in the same run.

One of them is reached through git's own HTTP backend, since the client itself does more over HTTP.

``python benchmarks/first_push.py [--commits N] [--files N] [--branches N] [--check]``. Half of the branches
have a commit of their own. One repos serves in this process, on SQLite. CPU is of the client, the server and
all processes of git. On a busy machine, trust it more than the time. With --check it exits with code 1 if
a ratio of times is above its bound. It does so too if the repository is empty after the push.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "services" / "repos")]

import uvicorn  # noqa: E402
from forks import fast_import  # noqa: E402
from tests.remote_world import Remote  # noqa: E402
from tests.world import World  # noqa: E402

from ingot_chassis.db.migrations import upgrade  # noqa: E402
from ingot_chassis.telemetry import configure_logging  # noqa: E402
from ingot_git.process.configuration import CONFIG  # noqa: E402
from ingot_repos.migrations import SCRIPTS  # noqa: E402

BOUND = 2.0
"""The largest time, as a multiple of plain git."""
FOLDERS = 200


def history(commits: int, files: int, branches: int) -> Iterator[bytes]:
    """A fast-import stream with one new file per commit. Every second branch is ahead of master."""
    each = max(1, files // FOLDERS)
    for number in range(commits):
        folder, file = number % FOLDERS, number // FOLDERS % each
        text = b"%d " % number * 20
        yield b"commit refs/heads/master\nmark :%d\ncommitter A <a@example.org> %d +0000\ndata 1\nx\n" % (
            number + 1,
            1_700_000_000 + number,
        )
        yield b"M 100644 inline d%d/f%d\ndata %d\n%b\n" % (folder, file, len(text), text)
    for number in range(branches):
        start = number * commits // branches + 1
        if number % 2:
            yield b"reset refs/heads/b%05d\nfrom :%d\n\n" % (number, start)
        else:
            yield b"commit refs/heads/b%05d\ncommitter A <a@example.org> %d +0000\ndata 1\ny\nfrom :%d\n" % (
                number,
                1_700_000_001 + start,
                start,
            )
            yield b"M 100644 inline own\ndata 1\nz\n\n"


def prepare(source: Path, plain: Path, stream: Iterator[bytes]) -> None:
    """Create the packed repository to push, and a plain empty one."""
    for path in (source, plain):
        subprocess.run(["git", "init", "-q", "--bare", str(path)], check=True)
    fast_import(source, stream)
    subprocess.run(["git", f"--git-dir={source}", "repack", "-adq"], check=True)


def prepare_served(path: Path) -> None:
    """Make an empty repository that receives over git-http-backend(1)."""
    subprocess.run(["git", "init", "-q", "--bare", str(path)], check=True)
    subprocess.run(["git", f"--git-dir={path}", "config", "http.receivepack", "true"], check=True)


def prepare_checking(path: Path) -> None:
    """Create an empty repository with the receive settings of Ingot."""
    subprocess.run(["git", "init", "-q", "--bare", str(path)], check=True)
    for key, value in CONFIG:
        subprocess.run(["git", f"--git-dir={path}", "config", "--add", key, value], check=True)


class Cost(NamedTuple):
    """Seconds until git exits, and seconds of CPU of this process and its children."""

    time: float
    cpu: float


async def cost_of_push(source: Path, url: str, *options: str) -> tuple[Cost, str]:
    """Return the cost of a push, and the output of git."""
    began, before = time.perf_counter(), sum(os.times()[:4])
    arguments = [
        "git",
        *options,
        f"--git-dir={source}",
        "push",
        "--progress",
        url,
        "refs/heads/*:refs/heads/*",
    ]
    process = await asyncio.create_subprocess_exec(
        *arguments, stderr=subprocess.PIPE, env=os.environ | {"NO_PROXY": "*", "GIT_TERMINAL_PROMPT": "0"}
    )
    _, output = await process.communicate()
    if process.returncode:
        raise SystemExit(f"git push failed: {output[-500:]!r}")
    return Cost(time.perf_counter() - began, sum(os.times()[:4]) - before), output.decode()


def print_ratio(name: str, of_git: Cost, of_ingot: Cost) -> None:
    print(
        f"{name} {of_git.time:.1f} s (CPU {of_git.cpu:.1f}), "
        f"Ingot {of_ingot.time:.1f} s (CPU {of_ingot.cpu:.1f}): "
        f"{of_ingot.time / of_git.time:.2f} (CPU {of_ingot.cpu / of_git.cpu:.2f})"
    )


async def measure(folder: Path, commits: int, files: int, branches: int) -> bool:
    """Print the figures. Return True if all are within their bounds."""
    source, plain, checking = (folder / name for name in ("source.git", "plain.git", "checking.git"))
    await asyncio.to_thread(prepare, source, plain, history(commits, files, branches))
    await asyncio.to_thread(prepare_checking, checking)
    (folder / "served").mkdir()
    await asyncio.to_thread(prepare_served, folder / "served" / "plain.git")
    database = f"sqlite+aiosqlite:///{folder}/repos.db"
    await upgrade(database, SCRIPTS)
    world = World(database, folder)
    ann = world.user(1, "ann")
    await ann.create("large", default_branch="master")
    config = uvicorn.Config(world.app, port=0, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    of_git, _ = await cost_of_push(source, str(plain))
    of_checks, _ = await cost_of_push(source, str(checking))
    async with Remote(folder / "served") as remote:
        of_http, _ = await cost_of_push(source, remote.url("plain.git"))
    headers = [  # they are valid for some minutes
        text for name, value in ann.headers().items() for text in ("-c", f"http.extraHeader={name}: {value}")
    ]
    of_ingot, output = await cost_of_push(source, f"http://127.0.0.1:{port}/ann/large.git", *headers)
    repository = (await ann.get("/repos/ann/large")).json()
    listed = (await ann.get("/repos/ann/large/commits")).status_code
    server.should_exit = True
    await serving
    await world.close()
    print(f"{commits} commits, {files} files, {branches} branches")
    print_ratio(f"plain git (bound {BOUND:.1f})", of_git, of_ingot)
    print_ratio("plain git over HTTP", of_http, of_ingot)
    print_ratio("plain git that checks and flushes all objects as Ingot does", of_checks, of_ingot)
    print(f"empty: {repository['empty']}, list of commits: {listed}")
    print(f"lines of progress from the server: {sum('remote:' in line for line in output.splitlines())}")
    return of_ingot.time <= BOUND * of_git.time and not repository["empty"] and listed == 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=200_000)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--branches", type=int, default=10_000)
    parser.add_argument("--check", action="store_true", help="fail if a figure is above its bound")
    options = parser.parse_args()
    configure_logging("error")
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder:
        is_within = asyncio.run(measure(Path(folder), options.commits, options.files, options.branches))
    if options.check and not is_within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
