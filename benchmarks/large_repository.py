"""The cost of a repository with 100,000 commits and 50,000 refs: one repos in this process, on SQLite.

``python benchmarks/large_repository.py [--commits N] [--refs N] [--check]``. The repository is packed, as
background jobs leave it. The first request of each kind has its own figure, because it fills caches. With
--check it exits with code 1 if a figure is above its bound.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "services" / "repos" / "tests"))

from forks import fast_import  # noqa: E402
from world import Person, World  # noqa: E402

from ingot_chassis.db.migrations import upgrade  # noqa: E402
from ingot_chassis.telemetry import configure_logging  # noqa: E402
from ingot_git.storage.packs import pack_repository  # noqa: E402
from ingot_repos.migrations import SCRIPTS  # noqa: E402

FOLDERS, FILES, ROUNDS = 100, 100, 5
LIST, PAGE = 0.3, 0.05
"""Bounds in seconds: for requests that read all refs, and for all others with filled caches."""
REPOSITORY = "/api/v1/repos/ann/large"
LS_REFS = {
    "url": "/ann/large.git/git-upload-pack",
    "content": b"0014command=ls-refs\n00010009peel\n000csymrefs\n0000",
    "headers": {"content-type": "application/x-git-upload-pack-request", "git-protocol": "version=2"},
}
ADVERTISEMENT = {"url": "/ann/large.git/info/refs?service=git-upload-pack"}
ROWS: tuple[tuple[str, str, dict[str, Any], float], ...] = (
    ("refs, in protocol 2", "POST", LS_REFS, LIST),
    ("refs, in protocol 0", "GET", ADVERTISEMENT, LIST),
    ("a page of 50 branches", "GET", {"url": f"{REPOSITORY}/branches?limit=50"}, LIST),
    ("the last page of branches", "GET", {"url": f"{REPOSITORY}/branches?limit=50&page=1000"}, LIST),
    ("a page of 50 commits", "GET", {"url": f"{REPOSITORY}/commits?limit=50"}, PAGE),
    ("the commits of a file", "GET", {"url": f"{REPOSITORY}/commits?path=d7/f7&limit=50"}, PAGE),
    ("the commits of a folder", "GET", {"url": f"{REPOSITORY}/commits?path=d7&limit=50"}, PAGE),
    ("a folder of 100 files, with last commits", "GET", {"url": f"{REPOSITORY}/contents/d7"}, PAGE),
    ("the root, with last commits", "GET", {"url": f"{REPOSITORY}/contents"}, PAGE),
)


def history(commits: int, refs: int) -> Iterator[bytes]:
    """A fast-import stream. Each commit writes the next of 10,000 files."""
    for number in range(commits):
        folder, file = number % FOLDERS, number // FOLDERS % FILES
        text = b"%d\n" % number
        yield b"commit refs/heads/master\nmark :%d\ncommitter A <a@example.org> %d +0000\ndata 1\nx\n" % (
            number + 1,
            1_700_000_000 + number,
        )
        yield b"M 100644 inline d%d/f%d\ndata %d\n%b\n" % (folder, file, len(text), text)
    for number in range(refs):
        yield b"reset refs/heads/b%05d\nfrom :%d\n\n" % (number, number * commits // refs + 1)


def used() -> float:
    """Seconds of CPU of this process and of the children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


async def spent(person: Person, method: str, options: dict[str, Any]) -> float:
    """Return the seconds of CPU of one request, including its client, which is in this process."""
    headers = person.headers() | options.get("headers", {})
    before = used()
    answer = await person.world.http.request(method, **{**options, "headers": headers})
    after = used()
    if answer.status_code != 200:
        raise SystemExit(f"{options['url']}: {answer.status_code} {answer.text[:300]}")
    return after - before


async def measure(folder: Path, commits: int, refs: int) -> bool:
    """Print the rows. Return True if all are within their bounds."""
    database = f"sqlite+aiosqlite:///{folder}/repos.db"
    await upgrade(database, SCRIPTS)
    world = World(database, folder)
    ann = world.user(1, "ann")
    repository = await ann.create("large", default_branch="master", auto_init=True)
    path = world.components.storage.path(repository["id"])
    await asyncio.to_thread(fast_import, path, history(commits, refs))
    await asyncio.to_thread(pack_repository, path, grace=timedelta(days=1))
    print(f"{'of ' + f'{commits} commits and {refs} refs':<50}{'first':>10}{'CPU':>10}{'bound':>10}")
    is_within = True
    for name, method, options, bound in ROWS:
        first = await spent(ann, method, options)
        again = statistics.median([await spent(ann, method, options) for _ in range(ROUNDS)])
        is_within &= again <= bound and (bound == PAGE or first <= bound)
        print(f"{name:<50}{first * 1000:>7.0f} ms{again * 1000:>7.0f} ms{bound * 1000:>7.0f} ms")
    await world.close()
    return is_within


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=100_000)
    parser.add_argument("--refs", type=int, default=50_000)
    parser.add_argument("--check", action="store_true", help="fail if a figure is above its bound")
    options = parser.parse_args()
    configure_logging("error")
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder:
        is_within = asyncio.run(measure(Path(folder), options.commits, options.refs))
    if options.check and not is_within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
