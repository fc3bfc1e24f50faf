"""The cost of clones and pushes, next to plain ``git upload-pack`` and ``git receive-pack`` in the same run.

CPU of all server processes and of the git processes that they start, without the clients. Except for the
identical clones, each clone is of a generation of its own, so git makes a new pack. ``python
benchmarks/git.py [--commits N] [--pushes] [--check]``. With --check it exits with code 1 if a figure is above
its bound.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncssh
import httpx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import processor  # noqa: E402
import run  # noqa: E402

from ingot_repos.catalog.store.upkeep import WRITES  # noqa: E402

ROUNDS, CLONES, PUSHES, REFS, FILE_BYTES, IDLE_SECONDS = 7, 16, 10, 2000, 10_000, 5.0
FOLLOWING_SECONDS = 2.0
SETTLE_SECONDS = 25.0
"""Seconds for packing and checking the repository: after the first push, and again after `WRITES` more.

No row includes this time.
"""
ENVIRONMENT = {
    "PATH": os.environ["PATH"], "HOME": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
    "NO_PROXY": "*",
    **{f"GIT_{role}_{part}": "bench" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")},
}  # fmt: skip
Row = tuple[str, float, float, str]
"""The name, the seconds, their bound, and a remark."""
PLAIN = """#!{python}
import resource, subprocess, sys
code = subprocess.call(["git", {program!r}, *sys.argv[1:]])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, file=open({log!r}, "a"))
raise SystemExit(code)
"""


def history(commits: int) -> Iterator[bytes]:
    """A fast-import stream: each commit changes one of a hundred files that cannot be compressed."""
    for number in range(commits):
        yield b"commit refs/heads/main\ncommitter A <a@example.org> %d +0000\ndata 1\nx\n" % (
            1_700_000_000 + number
        )
        yield (
            b"M 100644 inline file-%d\ndata %d\n" % (number % 100, FILE_BYTES)
            + os.urandom(FILE_BYTES)
            + b"\n"
        )


class Bench:
    """The cluster, a plain repository with the same content, and a work tree."""

    def __init__(self, deployment: run.Cluster, folder: Path, commits: int) -> None:
        self.folder, self.work, self.plain = folder, folder / "work", folder / "plain.git"
        owner, password = run.ADMINISTRATOR
        key, key_file = asyncssh.generate_private_key("ssh-ed25519"), folder / "key"
        key_file.write_bytes(key.export_private_key())
        key_file.chmod(0o600)
        with httpx.Client(base_url=deployment.url, auth=(owner, password), timeout=30) as client:
            token = client.post(f"api/v1/users/{owner}/tokens", json={"name": "git"}).json()["sha1"]
            created = client.post("api/v1/user/repos", json={"name": "git", "default_branch": "main"}).json()
            body = {"title": "bench", "key": key.export_public_key().decode()}
            client.post("api/v1/user/keys", json=body).raise_for_status()
        self.http, self.ssh = created["clone_url"], created["ssh_url"]
        hosts = f"-o UserKnownHostsFile={folder}/hosts -o StrictHostKeyChecking=accept-new"
        self.environment = ENVIRONMENT | {
            "GIT_SSH_COMMAND": f"ssh -F none -i {key_file} -o ConnectionAttempts=60 {hosts}",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: token {token}",
        }
        deployment.serve_ssh()
        self.git("init", "-q", "-b", "main", str(self.work), cwd=folder)
        importing = ["git", "fast-import", "--quiet"]
        with subprocess.Popen(
            importing, cwd=self.work, stdin=subprocess.PIPE, env=self.environment
        ) as process:
            assert process.stdin is not None
            for part in history(commits):
                process.stdin.write(part)
        self.git("reset", "-q", "--hard", "main")
        self._number = self._writes = 0
        self.push("main")
        self.git("clone", "-q", "--bare", str(self.work), str(self.plain), cwd=folder)
        self.git("ls-remote", self.ssh)  # wait until the SSH server has started
        time.sleep(SETTLE_SECONDS)
        self.servers, self.idle, self._writes = processor.descendants(os.getpid()), 0.0, 0
        self.idle = self.spent(lambda: time.sleep(IDLE_SECONDS)) / IDLE_SECONDS

    def git(self, *arguments: str, cwd: Path | None = None) -> None:
        subprocess.run(
            ["git", *arguments], cwd=cwd or self.work, env=self.environment, check=True, capture_output=True
        )

    def spent(self, act: Callable[[], object]) -> float:
        """Return the seconds of CPU of the servers, without the CPU of an idle deployment."""
        before, began = processor.seconds(self.servers), time.perf_counter()
        act()
        idle = self.idle * (time.perf_counter() - began)
        return processor.seconds(self.servers) - before - idle

    def push(self, what: str) -> None:
        self.git("push", "-q", self.http, what)
        self._writes += 1

    def push_tag(self) -> None:
        """Push a tag, which starts a new generation of the repository."""
        self.push(f"main:refs/tags/{self.next_name()}")

    def let_it_be_packed(self) -> None:
        """Pack the repository now. The rows that follow have fewer than `WRITES` writes, so they include no
        packing."""
        while self._writes < WRITES:
            self.push_tag()
        time.sleep(SETTLE_SECONDS)
        self._writes = 0

    def next_name(self) -> str:
        self._number += 1
        return f"n{self._number}"

    def clone(self, url: str) -> None:
        self.git("clone", "-q", "--bare", url, str(self.folder / self.next_name()), cwd=self.folder)

    def begin_generation(self) -> None:
        """Start a new generation and wait for the work after its push, which belongs to no clone."""
        self.push_tag()
        time.sleep(FOLLOWING_SECONDS)

    def clone_of_new_generation(self, url: str) -> float:
        self.begin_generation()
        return self.spent(lambda: self.clone(url))

    def clone_at_once(self) -> float:
        self.begin_generation()
        with ThreadPoolExecutor(CLONES) as threads:
            return self.spent(lambda: list(threads.map(lambda _: self.clone(self.http), range(CLONES))))

    def push_commits(self, push: Callable[[], object]) -> None:
        for _ in range(PUSHES):
            (self.work / "file").write_text(self.next_name())
            self.git("add", "file")
            self.git("commit", "-q", "-m", "x")
            push()

    def plain_push(self, wrapper: str) -> None:
        self.git("push", "-q", f"--receive-pack={wrapper}", str(self.plain), "main")

    def push_refs(self) -> float:
        """Return the wall-clock seconds of one request that pushes new refs.

        No git client is involved: it would compare each ref with all others.
        """
        self.push("+main")
        tip = subprocess.run(["git", "rev-parse", "main"], cwd=self.work, check=True, capture_output=True)
        nothing = ["git", "pack-objects", "-q", "--stdout"]
        pack = subprocess.run(nothing, cwd=self.work, check=True, capture_output=True, input=b"").stdout
        lines = [f"{'0' * 40} {tip.stdout.decode().strip()} refs/heads/many/{one}" for one in range(REFS)]
        lines[0] += "\0report-status side-band-64k"
        body = "".join(f"{len(line) + 4:04x}{line}" for line in lines).encode() + b"0000" + pack
        name, value = self.environment["GIT_CONFIG_VALUE_0"].split(": ")
        headers = {name: value, "Content-Type": "application/x-git-receive-pack-request"}
        began = time.perf_counter()
        answer = httpx.post(f"{self.http}/git-receive-pack", headers=headers, content=body, timeout=600)
        seconds = time.perf_counter() - began
        if answer.content.count(b"ok refs/heads/many/") != REFS:
            raise SystemExit(f"not all refs were pushed: {answer.status_code} {answer.content[-200:]!r}")
        return seconds

    def plainly(self, program: str, act: Callable[[str], object]) -> float:
        """Return the seconds of CPU of a git program. ``act`` gets the path of a wrapper to start it with."""
        log, wrapper = self.folder / self.next_name(), self.folder / f"{program}-{self.next_name()}"
        wrapper.write_text(PLAIN.format(python=sys.executable, program=program, log=str(log)))
        wrapper.chmod(0o755)
        act(str(wrapper))
        return sum(map(float, log.read_text().split()))

    def plain_clone(self, wrapper: str) -> None:
        target = str(self.folder / self.next_name())
        self.git("clone", "-q", "--bare", "--no-local", f"--upload-pack={wrapper}", str(self.plain), target)


def clones(bench: Bench) -> list[Row]:
    bench.clone(bench.http)
    bench.clone(bench.ssh)
    rounds = [
        (
            bench.plainly("upload-pack", bench.plain_clone),
            bench.clone_of_new_generation(bench.http),
            bench.clone_of_new_generation(bench.ssh),
            bench.clone_at_once(),
        )
        for _ in range(ROUNDS)
    ]
    plain, one, ssh, many = map(statistics.median, zip(*rounds, strict=True))
    return [
        ("one clone over HTTP", one, 1.15 * plain,
         f"{one / plain:.2f} of git upload-pack ({plain * 1000:.0f} ms)"),
        ("one clone over SSH", ssh, 2 * one, f"{ssh / one:.2f} of HTTP"),
        (f"{CLONES} identical clones at once", many, 3 * one, f"{many / one:.2f} of one"),
    ]  # fmt: skip


def push_of_a_commit(bench: Bench) -> Row:
    bench.let_it_be_packed()
    push = bench.spent(lambda: bench.push_commits(lambda: bench.push("main"))) / PUSHES
    plain = bench.plainly(
        "receive-pack", lambda wrapper: bench.push_commits(lambda: bench.plain_push(wrapper))
    )
    plain /= PUSHES
    remark = f"{(push - plain) * 1000:.0f} more than git receive-pack ({plain * 1000:.0f} ms)"
    return ("push of one commit", push, plain + 0.015, remark)


def push_of_refs(bench: Bench) -> Row:
    clock: list[float] = []
    spent = bench.spent(lambda: clock.append(bench.push_refs()))
    return (f"push of {REFS} refs, by the clock", clock[0], 2.0, f"CPU meanwhile {spent * 1000:.0f} ms")


def show(rows: Sequence[Row]) -> bool:
    """Print the rows. Return True if all are within their bounds."""
    print(f"{'exchange':<58}{'CPU':>10}{'bound':>10}")
    for name, spent, bound, remark in rows:
        print(f"{name:<58}{spent * 1000:>7.0f} ms{bound * 1000:>7.0f} ms   {remark}")
    return all(spent <= bound for _, spent, bound, _ in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=3000)
    parser.add_argument(
        "--pushes", action="store_true", help="measure only the push of one commit, some times"
    )
    parser.add_argument("--check", action="store_true", help="fail if a figure is above its bound")
    options = parser.parse_args()
    with run.cluster() as deployment, tempfile.TemporaryDirectory(prefix="ingot-bench-git-") as folder:
        bench = Bench(deployment, Path(folder), options.commits)
        if options.pushes:
            rows = [push_of_a_commit(bench) for _ in range(ROUNDS)]
        else:
            rows = [*clones(bench), push_of_a_commit(bench), push_of_refs(bench)]
        within = show(rows)
    if options.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
