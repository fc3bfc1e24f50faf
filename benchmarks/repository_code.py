"""The cost of code over the API: a file's contents, a page of commits, a tree, and a commit.

The table is that of ``run``. ``python benchmarks/repository_code.py [--requests N] [--check]``.
"""

import argparse
import base64
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import calls  # noqa: E402
import repositories  # noqa: E402
import run  # noqa: E402

ENTRIES, COMMITS = 1_000, 200
REPOSITORY = f"/api/v1/repos/{repositories.OWNER}/code"
FILE, PAGE, COMMIT = 11, 41, 208
"""Bounds: 0.8, 3 and 15 ms on a host where ``GET /version`` cost 72 µs."""
CASES = (
    run.Case("GET /version", "/api/v1/version"),
    run.Case("GET the contents of a file", f"{REPOSITORY}/contents/README.md", times=FILE),
    run.Case("GET a page of 50 commits", f"{REPOSITORY}/commits?limit=50", times=PAGE),
    run.Case(
        "GET the same without files", f"{REPOSITORY}/commits?limit=50&stat=false&files=false", times=PAGE
    ),
    run.Case("GET a tree of 1,000 entries", f"{REPOSITORY}/git/trees/master?recursive=1", times=PAGE),
    run.Case("GET a page of tags", f"{REPOSITORY}/tags?limit=50", times=PAGE),
    run.Case("GET the refs", f"{REPOSITORY}/git/refs", times=PAGE),
)
CREATE = run.Case("POST a file: one commit", "", times=COMMIT)


def push_repository(url: str, token: str, client: httpx.Client, folder: Path) -> None:
    """Push a thousand files, and some commits and tags."""
    client.post("api/v1/user/repos", json={"name": "code"}).raise_for_status()
    work = folder / "code"
    work.mkdir()
    repositories.git("init", "-q", "-b", "master", cwd=work)
    for number in range(ENTRIES - 2):
        repositories.write(work, f"file{number:04}.txt", f"line of {number}\n".encode() * 20)
    repositories.write(work, "README.md", b"# code\n" * 100)
    for number in range(COMMITS):
        repositories.write(work, "log.txt", f"{number}\n".encode())
        repositories.git("add", ".", cwd=work)
        repositories.git("commit", "-q", "-m", f"change {number}", cwd=work)
        if number % 4 == 0:
            repositories.git("tag", f"v{number}", cwd=work)
    repositories.push(url, token, work, "code")
    header = f"http.extraHeader=Authorization: token {token}"
    repositories.git("-c", header, "push", "-q", f"{url}{repositories.OWNER}/code.git", "--tags", cwd=work)


def commits(client: httpx.Client, _repository: str) -> Iterator[Callable[[], object]]:
    """Commits with one new file each."""
    body = {"content": base64.b64encode(b"some lines\n" * 50).decode()}
    for number in range(calls.WARM_UP + calls.CALLS):

        def create(path: str = f"{REPOSITORY[1:]}/contents/new/{number}.txt") -> object:
            return client.post(path, json=body).raise_for_status()

        yield create


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2000, help="of each kind and round")
    parser.add_argument("--check", action="store_true", help="fail if a figure is above its bound")
    options = parser.parse_args()
    with run.cluster() as deployment, tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder:
        token = run.create_repository_and_token(deployment.url)
        with httpx.Client(
            base_url=deployment.url, headers={"Authorization": f"token {token}"}, timeout=300, trust_env=False
        ) as client:
            push_repository(deployment.url, token, client, Path(folder))
        rows = run.rows_of(CASES, deployment.url, token, options.requests)
        within = run.print_rows(
            "processes", [*rows, (CREATE, partial(run.measure_calls, deployment.url, token, commits))]
        )
    if options.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
