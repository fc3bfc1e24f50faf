"""The official Go SDK: its own tests."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ...installers import go_program
from ...program import Check, Instance, Outcome, Program, execute, parse_go

MODULE = Path(__file__).parent
PACKAGE = "code.gitea.io/sdk/gitea/tests"
ACTIONS = "Ingot runs no Actions and keeps no secrets for them"
PACKAGES = "Ingot keeps no packages"
LEFT_OUT: Mapping[str, str] = {
    "TestCreateOrgActionSecret": ACTIONS,
    "TestCreateRepoActionSecret": ACTIONS,
    "TestCreateRepoSha256": "repositories have SHA-1 only: libgit2 reads no other",
    "TestDeletePackage": PACKAGES,
    "TestGetPackage": PACKAGES,
    "TestListPackageFiles": PACKAGES,
    "TestListPackages": PACKAGES,
    "TestRepoMigrateAndLanguages": "it imports a repository from the internet",
}


def tests() -> list[str]:
    """Every test of the package, in the order of Go: some count what earlier ones created."""
    command = ["go", "list", "-f", "{{.Dir}}", PACKAGE]
    folder = subprocess.run(command, cwd=MODULE, capture_output=True, text=True, check=True).stdout.strip()
    sources = "".join(file.read_text() for file in sorted(Path(folder).glob("*_test.go")))
    return re.findall(r"^func (Test\w+)\(t ", sources, re.MULTILINE)


def run(folder: Path, instance: Instance) -> list[Check]:
    """Run each test in a process of its own: some of them end the process when something is missing."""
    return [run_test(folder, instance, test) for test in tests() if test != "TestMain"]


def run_test(folder: Path, instance: Instance, test: str) -> Check:
    """Run a test, twice if it fails: some wait for a fixed time, which a loaded machine exceeds."""
    variables = os.environ | {
        "GITEA_SDK_TEST_URL": instance.url.rstrip("/"),
        "GITEA_SDK_TEST_USERNAME": instance.user,
        "GITEA_SDK_TEST_PASSWORD": instance.password,
    }
    command = [str(folder / "program"), "-test.v", f"-test.run=^{test}$"]
    for _ in range(1 if test in LEFT_OUT else 2):
        ended = execute(command, variables, instance.folder, seconds=120)
        if ended.returncode == 0:
            break
    if ended.returncode == 0:
        (check,) = parse_go(ended.stdout) or [Check(test, Outcome.LEFT_OUT, "not built on this system")]
        return check
    errors = re.findall(r"Error:\s+(.+)", ended.stdout)
    return Check(test, Outcome.FAILED, "; ".join(errors) or (ended.stdout + ended.stderr)[-300:])


PROGRAM = Program(
    name="Go SDK",
    version="0.25.1",
    registry="Go proxy",
    runs="its own tests",
    install=go_program(MODULE, PACKAGE, test=True),
    run=run,
    left_out=LEFT_OUT,
    # The administrator of the tests, and a server without LFS, which TestGetGlobalSettings expects.
    variables={"INGOT_REPOS_STATUSES_OF_COMMITS": "list", "INGOT_LFS_ENABLED": "false"},
    administrator=("test01", "the password of test01"),
)
