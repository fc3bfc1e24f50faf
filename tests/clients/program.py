"""A client program: its installation, its run against an instance, and the outcome of each of its checks."""

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

SECONDS = 900
REASON_SHOWN = 300


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    LEFT_OUT = "left out"


@dataclass(frozen=True)
class Check:
    """One thing that a program did."""

    name: str
    outcome: Outcome
    reason: str = ""


class NotInstalledError(Exception):
    """The program cannot be installed here; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Instance:
    """A running Ingot, and an administrator of it."""

    url: str
    ssh_port: int
    user: str
    password: str
    token: str
    folder: Path
    """An empty folder for the files of one program, also its home."""

    def variables(self) -> dict[str, str]:
        """The environment of a program."""
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("INGOT_", "GIT_"))
        }
        return inherited | {
            "HOME": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": self.user,
            "GIT_AUTHOR_EMAIL": f"{self.user}@example.org",
            "GIT_COMMITTER_NAME": self.user,
            "GIT_COMMITTER_EMAIL": f"{self.user}@example.org",
            "INGOT_URL": self.url.rstrip("/"),
            "INGOT_SSH_PORT": str(self.ssh_port),
            "INGOT_USER": self.user,
            "INGOT_PASSWORD": self.password,
            "INGOT_TOKEN": self.token,
        }


Install = Callable[[Path], None]
"""Installs into a folder, which may have the last installation. Raises NotInstalledError."""
Run = Callable[[Path, Instance], Sequence[Check]]


@dataclass(frozen=True, kw_only=True)
class Program:
    name: str
    version: str
    registry: str
    runs: str
    """The work that counts, for a reader of the table."""
    install: Install
    run: Run
    left_out: Mapping[str, str] = field(default_factory=dict)
    """The reason of each check that fails because Ingot does not offer what it needs."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Settings of an instance of its own; without them it shares one."""
    administrator: tuple[str, str] = ("root", "the password of root")

    def checks(self, folder: Path, instance: Instance) -> list[Check]:
        """Run it. A check that is left out and passes has failed: the table would be wrong."""
        checks = [self._judged(check) for check in self.run(folder, instance)]
        return checks or [Check("at least one check", Outcome.FAILED, "the program reported no check")]

    def _judged(self, check: Check) -> Check:
        reason = self.left_out.get(check.name)
        if reason is None:
            return check
        if check.outcome is Outcome.PASSED:
            return Check(check.name, Outcome.FAILED, f"it passes now, and is left out: {reason}")
        return Check(check.name, Outcome.LEFT_OUT, reason)


def script(*command: str) -> Run:
    """Run a script that reports its checks as lines of TAP. ``{folder}`` stands for the installation."""

    def run(folder: Path, instance: Instance) -> list[Check]:
        words = [word.replace("{folder}", str(folder)) for word in command]
        variables = instance.variables() | {
            "NODE_PATH": str(folder / "node_modules"),
            "PYTHONPATH": str(folder),
        }
        ended = execute(words, variables, instance.folder)
        checks = parse_tap(ended.stdout)
        if ended.returncode != 0:
            end = (ended.stderr or ended.stdout)[-REASON_SHOWN:]
            checks.append(Check("the script ends well", Outcome.FAILED, end))
        return checks

    return run


def execute(
    command: Sequence[str], variables: Mapping[str, str], folder: Path, *, seconds: int = SECONDS
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. A command that takes too long has failed."""
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=dict(variables),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        printed = error.stdout.decode() if isinstance(error.stdout, bytes) else (error.stdout or "")
        return subprocess.CompletedProcess(command, 1, printed, f"it ran for more than {seconds} seconds")


def parse_tap(text: str) -> list[Check]:
    """Read ``ok - name`` and ``not ok - name # reason`` lines."""
    checks = []
    for line in re.findall(r"^(?:not )?ok - .+$", text, re.MULTILINE):
        failed = line.startswith("not ")
        name, _, reason = line.partition(" - ")[2].partition(" # ")
        checks.append(
            Check(name.strip(), Outcome.FAILED if failed else Outcome.PASSED, reason.strip()[:REASON_SHOWN])
        )
    return checks


def parse_go(text: str) -> list[Check]:
    """Read the outcome of each test in the output of ``go test -v``."""
    outcomes = {"PASS": Outcome.PASSED, "FAIL": Outcome.FAILED, "SKIP": Outcome.LEFT_OUT}
    checks = []
    for outcome, name in re.findall(r"^--- (PASS|FAIL|SKIP): (\w+)", text, re.MULTILINE):
        errors = re.findall(r"Error:\s+(.+)", text) if outcome == "FAIL" else []
        reason = "; ".join(errors)[:REASON_SHOWN] if outcome == "FAIL" else ""
        checks.append(Check(name, outcomes[outcome], "skipped by itself" if outcome == "SKIP" else reason))
    return checks
