"""The time until the response to a fork of a large repository, and until the fork is ready.

``python benchmarks/forks.py [--mebibytes N] [--rounds N] [--check]``. One repos runs as a process, on SQLite.
The repository has incompressible blobs in one pack. The bytes that the forks add to the disk are printed as
well. With --check it exits with code 1 if a figure is above its bound.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "services" / "repos" / "tests"))

import httpx  # noqa: E402
import uvicorn  # noqa: E402
from world import World  # noqa: E402

from ingot_chassis.db.migrations import upgrade  # noqa: E402
from ingot_chassis.telemetry import configure_logging  # noqa: E402
from ingot_repos.migrations import SCRIPTS  # noqa: E402

MIB = 1024 * 1024
ANSWER_BOUND, READY_BOUND = 0.1, 2.0
RATIO_BOUND = 1.5
"""Largest time until git can fetch the fork, as a multiple of the time until the response."""
WAIT_SECONDS = 10.0
"""Longest wait of the response for the commits: the default of `INGOT_REPOS_FORK_WAIT_SECONDS`. Tests set 0.
"""
POLL = 0.005


def blobs(mebibytes: int) -> Iterator[bytes]:
    """A fast-import stream: one commit with files of 1 MiB of random bytes."""
    for mark in range(1, mebibytes + 1):
        yield b"blob\nmark :%d\ndata %d\n" % (mark, MIB) + os.urandom(MIB) + b"\n"
    yield b"commit refs/heads/master\ncommitter A <a@example.org> 1700000000 +0000\ndata 1\nx\n"
    for mark in range(1, mebibytes + 1):
        yield b"M 100644 :%d file-%d\n" % (mark, mark)


def fast_import(path: Path, parts: Iterable[bytes]) -> None:
    """Import a stream into a bare repository."""
    importing = ["git", "-c", "core.compression=0", f"--git-dir={path}", "fast-import", "--quiet", "--force"]
    with subprocess.Popen(importing, stdin=subprocess.PIPE) as git:
        assert git.stdin is not None
        for part in parts:
            git.stdin.write(part)
        git.stdin.close()
    if git.returncode:
        raise SystemExit("git fast-import failed")


def used(folder: Path) -> int:
    """Return the bytes on the disk. A file with several names is counted once."""
    entries = (path.stat() for path in folder.rglob("*") if path.is_file())
    return sum({entry.st_ino: entry.st_size for entry in entries}.values())


async def measure(folder: Path, mebibytes: int, rounds: int) -> tuple[list[float], list[float], int, int]:
    database = f"sqlite+aiosqlite:///{folder}/repos.db"
    await upgrade(database, SCRIPTS)
    world = World(database, folder)
    world.settings.background, world.settings.fork_wait_seconds = True, WAIT_SECONDS
    ann = world.user(1, "ann")
    repository = await ann.create("large", auto_init=True)
    await asyncio.to_thread(fast_import, world.components.storage.path(repository["id"]), blobs(mebibytes))
    before = used(folder / "storage")
    server = uvicorn.Server(uvicorn.Config(world.app, port=0, log_config=None, ws="none"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    answers, ready = [], []
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        for number in range(rounds + 1):
            person = world.user(10 + number, f"user{number}")
            headers = person.headers()
            await client.get("/api/v1/user/repos", headers=headers)
            began = time.perf_counter()
            answer = await client.post("/api/v1/repos/ann/large/forks", headers=headers, json={})
            answered = time.perf_counter()
            answer.raise_for_status()
            refs = f"/user{number}/large.git/info/refs?service=git-upload-pack"
            while (await client.get(refs, headers=headers)).status_code == 503:
                await asyncio.sleep(POLL)
            if number:  # the first one warms up
                answers.append(answered - began)
                ready.append(time.perf_counter() - began)
    server.should_exit = True
    await serving
    return answers, ready, before, used(folder / "storage") - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mebibytes", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="fail if a figure is above its bound")
    options = parser.parse_args()
    configure_logging("error")
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder:
        answers, ready, size, added = asyncio.run(measure(Path(folder), options.mebibytes, options.rounds))
    answered, opened = statistics.median(answers), statistics.median(ready)
    ratio = statistics.median(end / answer for end, answer in zip(ready, answers, strict=True))
    print(f"fork of a repository of {size / MIB:.0f} MiB, medians of {options.rounds}")
    print(f"{'answered after':<58}{answered * 1000:>7.0f} ms{ANSWER_BOUND * 1000:>7.0f} ms")
    print(f"{'ready after':<58}{opened * 1000:>7.0f} ms{READY_BOUND * 1000:>7.0f} ms")
    print(f"{'ready after, as a multiple of the answer':<58}{ratio:>7.2f}   {RATIO_BOUND:>7.1f}")
    print(f"    all forks together add {added / MIB:.1f} MiB to the disk")
    if options.check and (answered > ANSWER_BOUND or opened > READY_BOUND or ratio > RATIO_BOUND):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
