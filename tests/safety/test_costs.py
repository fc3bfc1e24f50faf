"""The most CPU time that one request can take: the worst input of each kind, sent by an unprivileged caller.

``INGOT_COSTS=write`` writes what was measured into the table of docs/explanation/reliability.md.
"""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from ingot_contracts.testing import worst_markdown

from ..e2e.deployments import (
    ADMINISTRATOR,
    CHEAP_PASSWORDS,
    Standalone,
    running,
)
from . import worst_repository
from .processes import cpu_seconds

DOCUMENT = Path(__file__).parents[2] / "docs/explanation/reliability.md"
BEGIN, END = "<!-- costs: written by tests/safety/test_costs.py -->\n", "<!-- end of costs -->"
BOUND = 1.0
"""CPU seconds of all processes for one request."""
MARGIN = 2.0
"""On a busy machine everything costs more."""
REFERENCE_SECONDS = 0.2
"""The time of `reference` on the machine of the table."""
PASSWORD = "what ann knows well"
REPOSITORY = "api/v1/repos/ann/worst"
DEEP = "/".join(["d"] * worst_repository.DEEP)
FOOTNOTES = worst_markdown.FOOTNOTES(120_000)
COMMENTS = 6
MENTIONS = " ".join(f"@u{n} #{n} ann/worst#{n} {n:040x}" for n in range(1500))


class Request(NamedTuple):
    """One request with its worst input. With a ``body`` the owner of the repository sends it, else it is
    anonymous."""

    kind: str
    worst: str
    method: str
    path: str
    body: Any = None


def folders_apart(count: int) -> list[dict[str, str]]:
    """Each file is in forty folders of its own."""
    folders = "/".join(f"d{number}" for number in range(39))
    return [{"operation": "create", "path": f"{n}/{folders}/f{n}", "content": ""} for n in range(count)]


PATHS = "&".join(f"path={number}" for number in range(100))
REQUESTS = [
    Request("archive", "20,000 files, 5,000 patterns of attributes", "GET",
            f"{REPOSITORY}/archive/patterns.tar.gz"),
    Request("archive", "100 paths of these files", "GET", f"{REPOSITORY}/archive/patterns.zip?{PATHS}"),
    Request("archive", "patterns and names with 40 stars", "GET", f"{REPOSITORY}/archive/stars.zip"),
    Request("bundle", "400 commits", "GET", f"{REPOSITORY}/archive/folder.bundle"),
    Request("blame", "10,000 lines of 120 commits", "GET", f"{REPOSITORY}/blame/lines.txt?ref=blamed"),
    Request("page of a blame", "the same file", "GET", "ann/worst/blame/branch/blamed/lines.txt"),
    Request("page of a blame", "10,000 lines, each of another commit than the next", "GET",
            "ann/worst/blame/branch/striped/lines.txt"),
    Request("diff of a commit", "8 files of 60,000 lines that are alike", "GET",
            f"{REPOSITORY}/git/commits/alike.diff"),
    Request("page of a commit", "the same files", "GET", "ann/worst/commit/{alike}"),
    Request("patch of a commit", "22,000 files", "GET", f"{REPOSITORY}/git/commits/rewritten.patch"),
    Request("page of a commit", "the same commit", "GET", "ann/worst/commit/{rewritten}"),
    Request("comparison", "histories without a common commit", "GET",
            f"{REPOSITORY}/compare/folder...patterns"),
    Request("page of a comparison", "22,000 files", "GET", "ann/worst/compare/{patterns}...{rewritten}"),
    Request("commits", "with their files", "GET", f"{REPOSITORY}/commits?sha=folder&limit=50"),
    Request("commits of a path", "in a folder of 10,000 files", "GET",
            f"{REPOSITORY}/commits?sha=folder&path=wide/9999.py"),
    Request("feed of a file", "in the same folder", "GET", "ann/worst/atom/branch/folder/wide/1.py"),
    Request("folder", "10,000 files, 400 commits", "GET", f"{REPOSITORY}/contents/wide?ref=folder"),
    Request("page of a folder", "the same folder", "GET", "ann/worst/src/branch/folder/wide"),
    Request("tree", "20,000 files in 100 folders", "GET",
            f"{REPOSITORY}/git/trees/patterns?recursive=1&per_page=100000"),
    Request("languages", "20,000 files", "GET", f"{REPOSITORY}/languages"),
    Request("settings of an editor", "125 KB of sections", "GET",
            f"{REPOSITORY}/editorconfig/{DEEP}/a?ref=settings"),
    Request("forms of issues", "100 forms of 400 fields", "GET", f"{REPOSITORY}/issue_templates"),
    Request("page of a file", "1 MB of code", "GET", "ann/worst/src/branch/settings/code.py"),
    Request("page of a README", "120 KB of footnotes", "GET", "ann/worst"),
    Request("page of branches", "500 branches", "GET", "ann/worst/branches"),
    Request("refs", "1,000 branches and tags", "GET", f"{REPOSITORY}/git/refs"),
    Request("search of a file", "20,000 names", "GET", "ann/worst/find/branch/patterns?q=9999"),
    Request("search of code", "20 MB, a backreference in repeats", "GET",
            f"{REPOSITORY}/code/search?ref=searched&regexp=true&q=(a*)*%5C1b"),
    Request("search of code", "40 files of 5,000-byte lines that all match", "GET",
            f"{REPOSITORY}/code/search?ref=searched&q=a"),
    Request("page of a search", "a text that 20,000 small files have", "GET",
            "ann/worst/search?ref=branch/patterns&q=x"),
    Request("search of repositories", "wildcards of SQL", "GET", "api/v1/repos/search?q=%25a%25_&limit=50"),
    Request("changes of files", "500 files, 40 folders deep", "POST", "api/v1/repos/ann/files/contents", {
        "files": folders_apart(500), "message": "x"}),
    Request("changes of files", "as many folders as are allowed", "POST", "api/v1/repos/ann/files/contents", {
        "files": folders_apart(25), "message": "x"}),
    Request("patch", "12,000 hunks, each at the other end of a file", "POST", f"{REPOSITORY}/diffpatch", {
        "content": worst_repository.patch(), "branch": "far"}),
    Request("pull request", "22,000 files", "POST", f"{REPOSITORY}/pulls", {
        "head": "rewritten", "base": "patterns", "title": "x"}),
    Request("page of its files", "the same files", "GET", "ann/worst/pulls/1/files"),
    Request("batch of LFS", "1,000 objects", "POST", "ann/worst.git/info/lfs/objects/batch", {
        "operation": "download", "objects": [{"oid": f"{n:064x}", "size": 1} for n in range(1000)]}),
    Request("body", "4,000,000 brackets of JSON", "POST", f"{REPOSITORY}/issues", b"[" * 4_000_000),
    Request("rendered text", "120 KB of footnotes", "POST", "api/v1/markdown",
            {"Text": FOOTNOTES, "Mode": "gfm"}),
    Request("issue", "6,000 mentions and references", "POST", f"{REPOSITORY}/issues",
            {"title": "x", "body": MENTIONS}),
    Request("page of an issue", "the same text", "GET", "ann/worst/issues/2"),
    Request("pull request", "800 files that both sides rename and change", "POST", f"{REPOSITORY}/pulls", {
        "head": "renamed-theirs", "base": "renamed-ours", "title": "x"}),
    Request("page of an issue", "6 comments of 120 KB of footnotes", "GET", "ann/files/issues/1"),
    Request("update of a pull request", "the same 800 files, by rebase", "POST",
            f"{REPOSITORY}/pulls/3/update?style=rebase", {}),
    Request("revert", "a commit that renames the same 800 files", "POST",
            f"{REPOSITORY}/commits/{{renamed-theirs}}/revert", {"branch": "renamed-ours"}),
    Request("update of a fork", "the same 800 files", "POST", "api/v1/repos/forks/worst/merge-upstream", {
        "branch": "diverged"}),
    Request("pull request", "500 commits", "POST", f"{REPOSITORY}/pulls", {
        "head": "replayed", "base": "replayed-base", "title": "x"}),
    Request("update of a pull request", "500 commits, by rebase, each signed by ssh-keygen", "POST",
            f"{REPOSITORY}/pulls/4/update?style=rebase", {}),
    # The last one: a job goes on with it.
    Request("merge", "the same 800 files", "POST", f"{REPOSITORY}/pulls/3/merge", {"do": "merge"}),
]  # fmt: skip


class Server:
    """A running Ingot with the worst repository."""

    def __init__(self, deployment: Standalone, folder: Path) -> None:
        self._process = deployment.processes()["ingot"]
        self._client = httpx.Client(base_url=deployment.url, timeout=120)
        self._repository = folder / "worst.git"
        account = {"username": "ann", "email": "ann@example.org", "password": PASSWORD}
        self._do("admin/users", ADMINISTRATOR, **account)
        self._do("user/repos", name="worst", default_branch="settings")
        self._do("user/repos", name="files", auto_init=True)
        self._do("repos/ann/files/issues", title="x")
        for _ in range(COMMENTS):
            self._do("repos/ann/files/issues/1/comments", body=FOOTNOTES)
        address = deployment.url.replace("://", f"://ann:{PASSWORD.replace(' ', '%20')}@")
        subprocess.run(["git", "init", "-q", "--bare", str(self._repository)], check=True)
        self._git("fast-import", "--quiet", text=b"".join(worst_repository.stream()))
        self._git("push", "-q", f"{address}ann/worst.git", "refs/*:refs/*")
        self._fork(f"{address}ann/worst.git")
        for path in (
            "ann/files",
            "ann/files/blame/branch/main/README.md",
            "ann/worst/commits/branch/settings",
            f"{REPOSITORY}/archive/settings.zip",
        ):
            self._client.get(path)  # the first request of a process loads modules
        self._idle = self._wait_until_idle()

    def _fork(self, address: str) -> None:
        """A fork whose branch `diverged` renames other files than that of its parent."""
        self._git("push", "-q", address, "+refs/heads/renamed-ours:refs/heads/diverged")
        self._do("orgs", username="forks")
        self._do("repos/ann/worst/forks", organization="forks")
        for _ in range(600):
            if self._client.get("api/v1/repos/forks/worst/branches/diverged").is_success:
                break
            time.sleep(0.1)  # until a job has made it
        self._git("push", "-q", address, "+refs/heads/diverged:refs/heads/diverged")

    def _do(self, path: str, auth: tuple[str, str] = ("ann", PASSWORD), **body: Any) -> None:
        answer = self._client.post(f"api/v1/{path}", json=body, auth=auth)
        assert answer.is_success, answer.text

    def _git(self, *command: str, text: bytes = b"") -> str:
        process = subprocess.run(
            ["git", "-C", str(self._repository), *command], input=text, stdout=subprocess.PIPE, check=True
        )
        return process.stdout.decode().strip()

    def _wait_until_idle(self) -> float:
        """Wait until the work after a push is done. Return the CPU seconds per second without requests."""
        for _ in range(60):
            before, began = cpu_seconds(self._process), time.monotonic()
            self._client.get("readyz")
            time.sleep(0.5)  # what an idle server does in that time
            idle = (cpu_seconds(self._process) - before) / (time.monotonic() - began)
            if idle < 0.1:
                return idle
        raise AssertionError(f"the server takes {idle:.2f} CPU seconds per second and should be idle")

    def cost(self, request: Request) -> tuple[float, int]:
        """CPU seconds of all processes, without those of an idle server, and the status."""
        path = re.sub(r"{([\w-]+)}", lambda match: self._git("rev-parse", match[1]), request.path)
        body: dict[str, Any] = {}
        if request.body is not None:
            is_raw = isinstance(request.body, bytes)
            body = {"auth": ("ann", PASSWORD), "content" if is_raw else "json": request.body}
        for _ in range(3):
            before, began = cpu_seconds(self._process), time.monotonic()
            answer = self._client.request(request.method, path, **body)
            spent = cpu_seconds(self._process) - before - self._idle * (time.monotonic() - began)
            if answer.status_code != 503:  # on a busy machine a service may answer too late
                break
        return max(spent, 0.0), answer.status_code


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("costs")
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    signing = {"INGOT_REPOS_SIGNING_KEY": str(key), "INGOT_REPOS_SIGNING_EMAIL": "ingot@example.org"}
    deployment = Standalone(folder, CHEAP_PASSWORDS | signing)
    with running(deployment):
        yield Server(deployment, folder)


def reference() -> float:
    """CPU seconds of a loop that is always the same."""
    began, value = time.process_time(), 0
    for number in range(2_000_000):
        value = (value * 31 + number) & 0xFFFF
    return time.process_time() - began


def row(request: Request, seconds: str) -> str:
    return f"| {request.kind} | {request.worst} | {seconds} | {BOUND:.0f} |\n"


def test_no_request_takes_more_cpu_time_than_its_bound(server):
    costs = []
    for request in REQUESTS:
        before = reference()
        seconds, status = server.cost(request)
        # Another guest of the machine may have begun in between.
        machine = max(before / REFERENCE_SECONDS, reference() / REFERENCE_SECONDS, 1.0)
        assert status < 500, (request.kind, request.worst, status)
        costs.append((request, seconds, machine))
        print(f"{request.kind}, {request.worst}: {status}, {seconds:.2f} CPU s", flush=True)
    if os.environ.get("INGOT_COSTS") == "write":
        text = DOCUMENT.read_text()
        head = "| request | worst input | CPU s | bound |\n|---|---|---|---|\n"
        table = head + "".join(row(request, f"{seconds:.2f}") for request, seconds, _ in costs)
        start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
        DOCUMENT.write_text(text[:start] + table + text[end:])
    above = {
        f"{request.kind}, {request.worst}": f"{seconds:.2f} CPU s"
        for request, seconds, machine in costs
        if seconds > BOUND * MARGIN * machine
    }
    assert above == {}


def test_the_document_has_each_request_within_its_bound():
    text = DOCUMENT.read_text()
    rows = text[text.index(BEGIN) : text.index(END)].splitlines()[3:]
    assert [re.sub(r"[\d.]+(?= \| \d+ \|$)", "?", line) + "\n" for line in rows] == [
        row(request, "?") for request in REQUESTS
    ]
    assert [line for line in rows if float(line.split(" | ")[2]) > BOUND] == []
