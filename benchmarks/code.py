"""What the code of a repository costs over the API: a file's contents, a page of commits, a tree, and a commit.

CPU of all server processes per request, beside its bound and as a multiple of ``GET /version`` in the same run: on a
busy machine only that multiple can be compared. ``python benchmarks/code.py [--requests N] [--check]``.
"""

import argparse
import base64
import os
import sys
import tempfile
from pathlib import Path

import httpx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import processor  # noqa: E402
import repositories  # noqa: E402
import run  # noqa: E402

ENTRIES, COMMITS = 1_000, 200
REPOSITORY = f"/api/v1/repos/{repositories.OWNER}/code"
CASES = (
    run.Case("GET /version", "/api/v1/version", 150e-6),
    run.Case("GET the contents of a file", f"{REPOSITORY}/contents/README.md", 0.8e-3),
    run.Case("GET a page of 50 commits", f"{REPOSITORY}/commits?limit=50", 3e-3),
    run.Case("GET the same without files", f"{REPOSITORY}/commits?limit=50&stat=false&files=false", 3e-3),
    run.Case("GET a tree of 1,000 entries", f"{REPOSITORY}/git/trees/master?recursive=1", 3e-3),
    run.Case("GET a page of tags", f"{REPOSITORY}/tags?limit=50", 3e-3),
    run.Case("GET the refs", f"{REPOSITORY}/git/refs", 3e-3),
)
COMMIT_BOUND = 15e-3


def push_repository(url: str, token: str, client: httpx.Client, folder: Path) -> None:
    """A thousand files, and some commits and tags."""
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


def measure_commits(client: httpx.Client, count: int) -> float:
    """Seconds of CPU of all processes for one commit through the API."""
    content = base64.b64encode(b"some lines\n" * 50).decode()

    def create(number: int) -> None:
        path = f"{REPOSITORY[1:]}/contents/made/{number}.txt"
        client.post(path, json={"content": content}).raise_for_status()

    for number in range(10):
        create(number)
    pids = processor.descendants(os.getpid())
    before = processor.seconds(pids)
    for number in range(10, 10 + count):
        create(number)
    return (processor.seconds(pids) - before) / count


def report(name: str, spent: float, bound: float, version: float) -> bool:
    """Print one figure; whether it is within its bound."""
    print(f"{name:<36}{spent * 1e6:>8.0f} µs{bound * 1e6:>8.0f} µs{spent / version:>11.1f}", flush=True)
    return spent <= bound


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2000, help="of each kind and round")
    parser.add_argument("--check", action="store_true", help="fail if a figure is above its bound")
    options = parser.parse_args()
    within, version = True, 0.0
    with run.cluster() as deployment, tempfile.TemporaryDirectory(prefix="ingot-bench-") as folder:
        token = run.create_repository_and_token(deployment.url)
        with httpx.Client(
            base_url=deployment.url, headers={"Authorization": f"token {token}"}, timeout=300, trust_env=False
        ) as client:
            push_repository(deployment.url, token, client, Path(folder))
            print(f"{'request (all processes)':<36}{'CPU':>11}{'bound':>11}{'to version':>11}")
            for case in CASES:
                figure = run.measure(case, deployment.url, token, options.requests)
                spent = figure.processor(case)
                version = version or spent
                within = report(case.name, spent, case.bound, version) and within
                print(f"    µs by program: {figure.shares()}", flush=True)
            spent = measure_commits(client, max(options.requests // 10, 20))
            within = report("POST a file: one commit", spent, COMMIT_BOUND, version) and within
    if options.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
