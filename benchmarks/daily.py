"""The requests and pages that people use all day, with targets as multiples of ``GET /version``.

CPU of all server processes per request, the median of three rounds, on the deployment of `run.py`. Compare
multiples only: hosts differ by a factor of two. The last row is an idle deployment: milliseconds of CPU in a
second. ``python benchmarks/daily.py [--requests N] [--mode processes|one] [--only NAME] [--check]``. What is
above its target is marked with "!"; with --check it ends the run with code 1.
"""

import argparse
import base64
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import pages  # noqa: E402
import processor  # noqa: E402
import run  # noqa: E402

FILES, COMMITS, COMMENTS = 21, 30, 10
IDLE_SECONDS, IDLE_TARGET = 20.0, 5.0
API, PAGE = run.REPOSITORY, f"/{run.ADMINISTRATOR[0]}/bench"
SOURCE = "".join(f"    value = compute(value, {number})  # step {number}\n" for number in range(120))


@dataclass(frozen=True)
class Daily(run.Case):
    """A request with its target as a multiple of ``GET /version``. ``session``: the cookies of a person."""

    target: float = 0.0
    session: str = ""

    def request(self, token: str) -> str:
        text = super().request(token)
        return text.replace("\r\n", f"\r\nCookie: {self.session}\r\n", 1) if self.session else text


def _read(name: str, path: str, target: float, share: float = 0.5, *, authorized: bool = False) -> Daily:
    return Daily(name, path, share=share, authorized=authorized, target=target)


def _write(name: str, path: str, target: float, body: dict[str, str], status: str = "201") -> Daily:
    return Daily(
        name,
        path,
        method="POST",
        body=json.dumps(body),
        status=status,
        share=0.1,
        authorized=True,
        target=target,
    )


def cases_of(names: dict[str, str]) -> list[Daily]:
    """Return the rows. ``names``: the commit and the pull request that paths name."""
    sha, pull = names["sha"], names["pull"]
    comments, commit = f"{API}/issues/1/comments", f"{API}/git/commits/{sha}"
    return [
        _read("GET /version", "/api/v1/version", 0, 1),
        _read("GET /user", "/api/v1/user", 3.5, 1, authorized=True),
        _read("one repository", API, 6.6, 1, authorized=True),
        _read("one repository, anonymous", API, 5.8, 1),
        _read("10 comments of an issue", comments, 7.5, authorized=True),
        _read("10 comments of an issue, anonymous", comments, 7.5),
        _read("one commit", commit, 15, authorized=True),
        _read("one commit, anonymous", commit, 15),
        _read("contents of a file, anonymous", f"{API}/contents/src/file1.py", 9),
        _read("21 files of a pull request", f"{API}/pulls/{pull}/files", 28, 0.2, authorized=True),
        _write(
            "2 KB of markdown, new each time",
            "/api/v1/markdown",
            18,
            json.loads(run.markdown(f"%NUMBER%{run.MARKDOWN}")),
            "200",
        ),
        _write("create a comment", f"{API}/issues/2/comments", 60, {"body": "It *works* again."}),
        _write("create an empty repository", "/api/v1/user/repos", 40, {"name": "r%NUMBER%"}),
        _read("page: repository, anonymous", PAGE, 30, 0.1),
        _read("page: repository", PAGE, 45, 0.1),
        _read("page: 30 issues", f"{PAGE}/issues", 40, 0.1),
        _read("page: issue with 10 comments, anonymous", f"{PAGE}/issues/1", 40, 0.1),
        _read("page: issue with 10 comments", f"{PAGE}/issues/1", 40, 0.1),
        _read("page: file of 6 KB, anonymous", f"{PAGE}/src/branch/main/src/file1.py", 60, 0.1),
        _read("page: pull request, anonymous", f"{PAGE}/pulls/{pull}", 70, 0.1),
        _read("page: pull request", f"{PAGE}/pulls/{pull}", 70, 0.1),
        _read("page: commit, anonymous", f"{PAGE}/commit/{sha}", 70, 0.1),
        _read("page: commit", f"{PAGE}/commit/{sha}", 70, 0.1),
        _read("page: 30 commits, anonymous", f"{PAGE}/commits/branch/main", 36, 0.1),
        _read("page: 30 commits", f"{PAGE}/commits/branch/main", 36, 0.1),
    ]


def fill(client: httpx.Client) -> dict[str, str]:
    """Create the data that the rows read. Return the names for their paths."""
    repository = f"api/v1/repos/{run.ADMINISTRATOR[0]}/bench"

    def create(path: str, **body: object) -> dict[str, int]:
        answer: dict[str, int] = client.post(f"{repository}/{path}", json=body).raise_for_status().json()
        return answer

    def commit(branch: str, number: int, names: Iterator[str], text: str) -> None:
        content = base64.b64encode(text.encode()).decode()
        files = [{"operation": "create", "path": name, "content": content} for name in names]
        create("contents", branch=branch, message=f"change {number}", files=files)

    commit("main", 0, (f"src/file{number}.py" for number in range(FILES)), SOURCE)
    for number in range(1, COMMITS):
        commit("main", number, iter([f"notes/{number}.md"]), f"Note {number}\n")
    create("branches", new_branch_name="topic")
    commit("topic", COMMITS, (f"new/file{number}.py" for number in range(FILES)), SOURCE)
    for number in range(run.ISSUES):
        create("issues", title=f"Issue {number}", body=f"The lamp **flickers**, see #{number // 2 + 1}.")
    for number in range(COMMENTS):
        create("issues/1/comments", body=f"I saw it, too, *{number}* times. See #{number + 2}.")
    pull = create("pulls", title="Add files", head="topic", base="main", body="It adds *files*.")["number"]
    sha = client.get(f"{repository}/branches/topic").raise_for_status().json()["commit"]["id"]
    return {"sha": sha, "pull": str(pull)}


def measure_idle() -> float:
    """Return the milliseconds of CPU in a second that all servers take without a request."""
    pids = processor.descendants(os.getpid())
    before = processor.seconds(pids)
    time.sleep(IDLE_SECONDS)
    return (processor.seconds(pids) - before) / IDLE_SECONDS * 1e3


def measure_all(url: str, mode: str, requests: int, only: str) -> bool:
    """Print a line for each row. Return True if all are within their targets."""
    token = run.create_repository_and_token(url)
    headers = {"Authorization": f"token {token}"}
    with httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False) as client:
        names = fill(client)
    cookies = "; ".join(f"{name}={value}" for name, value in pages.sign_in(url).items())
    version, within = 0.0, True
    print(f"{mode:<42}{'CPU':>10}{'x version':>11}{'target':>8}   ms by program")
    for case in cases_of(names):
        if version and only not in case.name:
            continue
        if case.name.startswith("page:") and "anonymous" not in case.name:
            case = replace(case, session=cookies)  # noqa: PLW2901
        count = max(run.CONNECTIONS, int(requests * case.share))
        figure = run.measure(case, url, token, count)
        spent = sum(figure.by_program.values())
        version = version or spent
        missed = bool(case.target) and spent / version > case.target
        within = within and not missed
        target = f"{case.target:>8g}{' !' if missed else '  '}" if case.target else " " * 10
        shares = sorted(figure.by_program.items(), key=lambda entry: -entry[1])
        parts = ", ".join(f"{program} {each * 1e3:.2f}" for program, each in shares if each > 2e-5)
        print(f"{case.name:<42}{spent * 1e3:>7.3f} ms{spent / version:>11.1f}{target} {parts}", flush=True)
    if only in "idle":
        time.sleep(IDLE_SECONDS)  # wait for the background work of the rows above
        idle = measure_idle()
        mark = " !" if idle > IDLE_TARGET else ""
        print(f"{'idle, ms in a second':<42}{idle:>7.1f} ms{'':>11}{IDLE_TARGET:>8g}{mark}")
        within = within and idle <= IDLE_TARGET
    return within


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=4000, help="of each kind and round")
    parser.add_argument("--mode", choices=run.MODES, help="measure one mode")
    parser.add_argument("--only", default="", help="measure the rows whose name has this in it")
    parser.add_argument("--check", action="store_true", help="fail if a figure is above its target")
    options = parser.parse_args()
    within = True
    for mode in [options.mode] if options.mode else run.MODES:
        with run.MODES[mode]() as deployment:
            within = measure_all(deployment.url, mode, options.requests, options.only) and within
    if options.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
