"""The cost of a page for a signed-in user: a repository with 10,000 files, 3,000 commits and 1,000 issues.

A page has three figures, next to their bounds. They are the CPU of all server processes, its multiple of
``GET /version``, and its compressed bytes. On a busy machine, compare only the multiples. Another figure is
the waiting time of 20 readers of all kinds of pages at once (95th percentile). The services run in
processes of their own first, then in one process, as with `ingot up`.

``python benchmarks/pages.py [--requests N] [--mode processes|one] [--only NAME] [--all] [--check]``. "!"
marks a figure above its bound; with --check it exits with code 1 if there is one. ``--all`` measures every
page of web, the most expensive last.
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import httpx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import page_routes  # noqa: E402
import processor  # noqa: E402
import repositories  # noqa: E402
import run  # noqa: E402

FOLDERS, FILES_OF_FOLDER, COMMITS, ISSUES = 100, 100, 3_000, 1_000
CHANGED_FILES, REVIEWS, COMMENTS = 20, 8, 30
CPU_BOUND, BYTES_BOUND = 25e-3, 100_000
CONNECTIONS, READERS, WARM_UP = 4, 20, 16
BASE = f"{repositories.OWNER}/large"
LINES = "".join(f"    result.append(compute(value, {number}))  # step {number}\n" for number in range(12))
SOURCE = f'"""A module."""\n\n\ndef work(values):\n    result = []\n{LINES}    return result\n'
TOKEN = re.compile(r'name="token" value="([^"]+)"')
PAGES = (
    ("home of the site", ""),
    ("repository", BASE),
    ("folder of 100 files", f"{BASE}/src/branch/main/src/part07"),
    ("file", f"{BASE}/src/branch/main/src/part07/module42.py"),
    ("blame", f"{BASE}/blame/branch/main/src/part07/module42.py"),
    ("files by a word", f"{BASE}/find/branch/main?q=module42"),
    ("commits", f"{BASE}/commits/branch/main"),
    ("commits of a file", f"{BASE}/commits/branch/main/src/part07/module42.py"),
    ("commit", f"{BASE}/commit/{{sha}}"),
    ("branches", f"{BASE}/branches"),
    ("tags", f"{BASE}/tags"),
    ("releases", f"{BASE}/releases"),
    ("comparison", f"{BASE}/compare/main...topic"),
    ("issues", f"{BASE}/issues"),
    ("issues by a word", f"{BASE}/issues?q=flickers"),
    ("issue with 30 comments", f"{BASE}/issues/1"),
    ("form of a new issue", f"{BASE}/issues/new"),
    ("labels", f"{BASE}/labels"),
    ("milestones", f"{BASE}/milestones"),
    ("pull requests", f"{BASE}/pulls"),
    ("pull request", f"{BASE}/pulls/{{pull}}"),
    ("its commits", f"{BASE}/pulls/{{pull}}/commits"),
    ("its changes", f"{BASE}/pulls/{{pull}}/files"),
    ("settings", f"{BASE}/settings"),
)
"""The name of each page, and its path."""
MODES = {"processes": run.cluster, "one": run.standalone}


@dataclass(frozen=True)
class PageFigure:
    """Seconds of CPU by program, and the compressed bytes of the response."""

    by_program: dict[str, float]
    size: int

    @property
    def processor(self) -> float:
        return sum(self.by_program.values())


def history() -> Iterator[str]:
    """The repository for ``git fast-import``. The first commit adds all files, each other one changes one of
    them."""
    names = [f"src/part{n:02}/module{m}.py" for n in range(FOLDERS) for m in range(FILES_OF_FOLDER)]
    yield from _commit(
        "refs/heads/main", "begin", 0, {**dict.fromkeys(names, SOURCE), "README.md": "# Large\n\nIt *is*.\n"}
    )
    for number in range(1, COMMITS):
        changed = {names[number * 7919 % len(names)]: SOURCE + f"# {number}\n"}
        yield from _commit("refs/heads/main", f"change {number}", number, changed)
    yield "reset refs/heads/topic\nfrom refs/heads/main\n\n"
    topic = {name: SOURCE.replace("step 3", "the third step") for name in names[:CHANGED_FILES]}
    yield from _commit("refs/heads/topic", "name the step", COMMITS, topic)


def _commit(ref: str, message: str, number: int, files: dict[str, str]) -> Iterator[str]:
    yield f"commit {ref}\ncommitter Bench <bench@example.org> {1_600_000_000 + number * 3600} +0000\n"
    yield f"data {len(message)}\n{message}\n"
    for name, content in files.items():
        yield f"M 100644 inline {name}\ndata {len(content)}\n{content}\n"


def push_repository(url: str, token: str, work: Path) -> None:
    repositories.git("init", "-q", "-b", "main", cwd=work)
    subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=work, input="".join(history()), text=True, check=True
    )
    repositories.push(url, token, work, "large")


def fill(client: httpx.Client, url: str, token: str) -> dict[str, str]:
    """Create the data of the pages. Return the names for their paths."""
    client.post("api/v1/user/repos", json={"name": "large"}).raise_for_status()
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder:
        push_repository(url, token, Path(folder))
    base = f"api/v1/repos/{BASE}"

    def make(path: str, **body: object) -> dict[str, int]:
        answer: dict[str, int] = client.post(f"{base}/{path}", json=body).raise_for_status().json()
        return answer

    labels = [make("labels", name=f"kind {n}", color="#2a6fdb")["id"] for n in range(10)]
    milestone = make("milestones", title="Next")["id"]
    for number in range(ISSUES):
        body = f"The lamp **flickers** on page {number}.\n\n- see #{number // 2 + 1}\n- and `part{number}`\n"
        make(
            "issues",
            title=f"Number {number}",
            body=body,
            labels=labels[number % 9 : number % 9 + 2],
            milestone=milestone,
        )
    for number in range(COMMENTS):
        make("issues/1/comments", body=f"I saw it, too, *{number}* times. See #{number + 2}.")
    pull = make("pulls", title="Name the step", head="topic", base="main", body="It says what it is.")[
        "number"
    ]
    for number in range(REVIEWS):
        comment = {"path": f"src/part00/module{number}.py", "body": "Why **this** name?", "new_position": 8}
        make(f"pulls/{pull}/reviews", event="COMMENT", body="", comments=[comment])
    for number in range(10):
        make(
            "releases",
            tag_name=f"v{number}",
            target_commitish="main",
            name=f"Version {number}",
            body="- *more*\n" * 5,
        )
    sha = client.get(f"{base}/branches/topic").raise_for_status().json()["commit"]["id"]
    return {"sha": sha, "pull": str(pull)}


def sign_in(url: str) -> dict[str, str]:
    """Return the cookies of a session."""
    name, password = run.ADMINISTRATOR
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as browser:
        match = TOKEN.search(browser.get("login").raise_for_status().text)
        form = {"token": match[1] if match else "", "query": "", "username": name, "password": password}
        browser.post("login", data=form)
        return dict(browser.cookies)


async def read(client: aiohttp.ClientSession, path: str) -> int:
    """Read a page. Return its compressed bytes.

    Raises SystemExit if the page does not exist.
    """
    async with client.get(f"/{path}", headers={"Accept-Encoding": "gzip"}, allow_redirects=False) as answer:
        content = await answer.read()
    if answer.status != 200:
        raise SystemExit(f"{path} answered {answer.status}")
    return len(content)


async def read_all(client: aiohttp.ClientSession, paths: list[str]) -> None:
    """Read every page once.

    Raises SystemExit with the names of missing pages.
    """
    missing = []
    for path in paths:
        try:
            await read(client, path)
        except SystemExit as problem:
            missing.append(str(problem))
    if missing:
        raise SystemExit("\n".join(missing))


async def measure(client: aiohttp.ClientSession, path: str, count: int) -> PageFigure:
    """The median of three rounds."""

    async def reader(times: int) -> None:
        for _ in range(times):
            await read(client, path)

    size = await read(client, path)
    await asyncio.gather(*(reader(WARM_UP // CONNECTIONS) for _ in range(CONNECTIONS)))
    figures = []
    for _ in range(run.ROUNDS):
        pids = processor.descendants(os.getpid())
        before = processor.by_program(pids)
        await asyncio.gather(*(reader(count // CONNECTIONS) for _ in range(CONNECTIONS)))
        spent = {
            program: (seconds - before.get(program, 0.0)) / (count // CONNECTIONS * CONNECTIONS)
            for program, seconds in processor.by_program(pids).items()
        }
        figures.append(PageFigure(spent, size))
    return sorted(figures, key=lambda figure: figure.processor)[run.ROUNDS // 2]


async def waiting_times(client: aiohttp.ClientSession, paths: list[str]) -> tuple[float, float]:
    """Return the median and the 95th percentile of the seconds that ``READERS`` readers at once wait for a
    page."""
    waited: list[float] = []

    async def reader(number: int) -> None:
        for path in paths[number:] + paths[:number]:
            began = time.perf_counter()
            await read(client, path)
            waited.append(time.perf_counter() - began)

    await asyncio.gather(*(reader(number) for number in range(READERS)))
    waited.sort()
    return waited[len(waited) // 2], waited[len(waited) * 95 // 100]


async def measure_all(url: str, mode: str, named: dict[str, str], options: argparse.Namespace) -> bool:
    """Print a line for each page. Return True if all are within their bounds."""
    pages = (
        page_routes.list_pages(named)
        if options.all
        else [(name, path.format(**named)) for name, path in PAGES]
    )
    pages = [page for page in pages if options.only in page[0]]
    figures = []
    async with aiohttp.ClientSession(url, cookies=sign_in(url), auto_decompress=False) as client:
        await read_all(client, [path for _, path in pages])
        version = (await measure(client, "api/v1/version", options.requests * 20)).processor
        head = f"{'CPU':>10}{'bound':>8}{'to version':>12}{'compressed':>12}{'bound':>9}   ms by program"
        print(f"{f'page ({mode})':<26}{head}")
        for name, path in pages:
            figures.append((name, await measure(client, path, options.requests)))
            if not options.all:
                print_figure(*figures[-1], version)
        if options.all:
            for figure in sorted(figures, key=lambda named_figure: named_figure[1].processor):
                print_figure(*figure, version)
        if not options.only:
            median, most = await waiting_times(client, [path for _, path in pages])
            print(f"{READERS} readers wait {median * 1e3:.0f} ms, the 95th percentile is {most * 1e3:.0f} ms")
    within = [figure for _, figure in figures if figure.processor <= CPU_BOUND and figure.size <= BYTES_BOUND]
    print(f"{len(within)} of {len(figures)} pages are within both bounds")
    return len(within) == len(figures)


def print_figure(name: str, figure: PageFigure, version: float) -> None:
    """Print the line of a page."""
    spent = figure.processor
    shares = sorted(figure.by_program.items(), key=lambda entry: -entry[1])
    parts = ", ".join(f"{program} {each * 1e3:.1f}" for program, each in shares if each > 5e-5)
    mark, size_mark = "!" if spent > CPU_BOUND else " ", "!" if figure.size > BYTES_BOUND else " "
    cost = f"{spent * 1e3:>7.1f} ms{CPU_BOUND * 1e3:>6.0f} {mark}{spent / version:>12.0f}"
    length = f"{figure.size / 1e3:>9.1f} KB{BYTES_BOUND / 1e3:>7.0f} {size_mark}"
    print(f"{name:<26}{cost}{length}   {parts}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100, help="of each kind and round")
    parser.add_argument("--only", default="", help="measure the pages whose name has this text")
    parser.add_argument("--mode", choices=tuple(MODES), default="", help="only this one")
    parser.add_argument("--all", action="store_true", help="every page that web has")
    parser.add_argument("--check", action="store_true", help="fail if a figure is above its bound")
    options = parser.parse_args()
    within = [measure_mode(mode, options) for mode in MODES if options.mode in ("", mode)]
    if options.check and not all(within):
        raise SystemExit(1)


def measure_mode(mode: str, options: argparse.Namespace) -> bool:
    """Start Ingot, fill it and measure. Return True if all pages are within their bounds."""
    with MODES[mode]() as deployment:
        token = run.create_repository_and_token(deployment.url)
        headers = {"Authorization": f"token {token}"}
        with httpx.Client(base_url=deployment.url, headers=headers, timeout=300, trust_env=False) as client:
            named = fill(client, deployment.url, token)
            if options.all:
                named |= page_routes.fill_rest(client, f"repos/{BASE}", repositories.OWNER)
        return asyncio.run(measure_all(deployment.url, mode, named, options))


if __name__ == "__main__":
    main()
