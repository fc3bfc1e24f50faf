"""The tests of the official Go SDK, as its authors wrote them, against a running Ingot.

Each test runs in a process of its own: some of them end the process when something is missing. docs/reference/clients.md has the
reasons of those that fail.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ..e2e.deployments import Standalone, running
from ..e2e.go_modules import go, require_modules

MODULE = Path(__file__).parent / "go_sdk"
PACKAGE = "code.gitea.io/sdk/gitea/tests"
ADMINISTRATOR = ("test01", "the password of test01")
"""Its tests write the name of the administrator out."""
SECONDS = 120
ACTIONS = "Ingot runs no Actions and keeps no secrets for them"
PACKAGES = "Ingot keeps no packages"
FAILING: dict[str, str] = {
    "TestCreateOrgActionSecret": ACTIONS,
    "TestCreateRepoActionSecret": ACTIONS,
    "TestCreateRepoSha256": "repositories have SHA-1 only",
    "TestDeletePackage": PACKAGES,
    "TestGetPackage": PACKAGES,
    "TestListPackageFiles": PACKAGES,
    "TestListPackages": PACKAGES,
    "TestRepoMigrateAndLanguages": "it imports a repository from the internet",
}
"""Why, for each test that fails."""
NEEDS_INTERNET = {"TestRepoMigrateAndLanguages"}
LEAST_PASSED = 56


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tests of the SDK, compiled."""
    require_modules(MODULE, "the SDK")
    target = tmp_path_factory.mktemp("go-sdk") / "sdk.test"
    built = go(MODULE, "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", str(target), PACKAGE)
    assert built.returncode == 0, built.stderr
    return target


@pytest.fixture(scope="module")
def url(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An Ingot of the tests' own."""
    name, password = ADMINISTRATOR
    variables = {
        "INGOT_ADMIN_USERNAME": name,
        "INGOT_ADMIN_PASSWORD": password,
        "INGOT_ADMIN_EMAIL": "test01@gitea.io",
        "INGOT_REPOS_STATUSES_OF_COMMITS": "list",
        "INGOT_LFS_ENABLED": "false",
    }
    deployment = Standalone(tmp_path_factory.mktemp("ingot"), variables)
    with running(deployment):
        url = deployment.url.rstrip("/")
        token = {"name": "gitea-admin", "scopes": ["all"]}  # one of its tests counts it
        created = httpx.post(f"{url}/api/v1/users/{name}/tokens", json=token, auth=ADMINISTRATOR, timeout=30)
        assert created.status_code == 201, created.text
        yield url


def names_of_tests() -> list[str]:
    """Every test of the package, in the order in which Go runs them: some count what those before them created."""
    folder = Path(go(MODULE, "list", "-f", "{{.Dir}}", PACKAGE).stdout.strip())
    sources = "".join(file.read_text() for file in sorted(folder.glob("*_test.go")))
    return re.findall(r"^func (Test\w+)\(t ", sources, re.MULTILINE)


def run(program: Path, url: str, test: str) -> subprocess.CompletedProcess[str]:
    """Run one test of the SDK."""
    name, password = ADMINISTRATOR
    environment = os.environ | {
        "GITEA_SDK_TEST_URL": url,
        "GITEA_SDK_TEST_USERNAME": name,
        "GITEA_SDK_TEST_PASSWORD": password,
    }
    return subprocess.run(
        [str(program), "-test.v", f"-test.run=^{test}$"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_the_page_names_every_test_that_fails_and_how_many_pass():
    page = (Path(__file__).parents[2] / "docs/reference/clients.md").read_text()
    assert f"| its own {LEAST_PASSED + len(FAILING)} tests | {LEAST_PASSED} pass" in page
    assert [test for test in FAILING if f"`{test}`" not in page] == []


def test_the_tests_of_the_go_sdk_pass_but_for_those_that_are_named(program, url):
    names, unexpected, failed = names_of_tests(), {}, set()
    for number, test in enumerate(names, 1):
        ended = run(program, url, test)
        if ended.returncode != 0 and test not in FAILING:
            ended = run(program, url, test)  # some wait for a fixed time, which a loaded machine exceeds
        print(f"{number}/{len(names)} {test}: {'passes' if ended.returncode == 0 else 'fails'}")
        if ended.returncode != 0:
            failed.add(test)
            if test not in FAILING:
                unexpected[test] = (ended.stdout + ended.stderr)[-2_000:]
    assert not unexpected, "\n\n".join(f"{test}\n{output}" for test, output in unexpected.items())
    assert failed | NEEDS_INTERNET == set(FAILING)
    assert len(names) - len(failed) >= LEAST_PASSED
