"""The description of the API is valid, and nothing that it allows, or nearly allows, makes the server fail.

Nor is anything answered with a status that the description lacks. ``make soak`` tries more (INGOT_FUZZ, the inputs for
each operation).
"""

import asyncio
import base64
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from ingot_gateway.interface_version import served_version
from ingot_gateway.openapi_merge import operation_ids

from .deployments import ADMINISTRATOR, CHEAP_PASSWORDS, Deployment, Standalone, running
from .history import commit_file, git

SEED = 20_171_201
EXAMPLES = os.environ.get("INGOT_FUZZ", "")
OWNER = ADMINISTRATOR[0]
DESCRIPTION = "api/v1/openapi.json"
METHODS = {"get", "post", "put", "patch", "delete"}

WORLD = f"""
[parameters]
"path.owner" = "{OWNER}"
"path.username" = "ann"
"path.repo" = "world"
"path.org" = "acme"
"path.index" = 2
"path.repository_id" = 1
"path.team_id" = 1
"path.comment_id" = 1
"path.hook_id" = 1
"path.label_id" = 1
"path.milestone_id" = 1
"path.collaborator" = "ann"
"path.tracker" = "{OWNER}"
"path.branch" = "main"
"path.ref" = "main"
"path.sha" = "main"
"path.filepath" = "main/README.md"

[[operations]]
include-operation-id = "repoGetArchive"
parameters = {{ "path.filepath" = "main.zip" }}
"""
"""What exists, for the parameters that name something; number 2 is a pull request, and so an issue as well."""

KEEPING_THE_WORLD = (
    *("--exclude-method", "DELETE"),
    *("--exclude-path", "/api/v1/repos/{owner}/{repo}"),  # may be renamed
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """One of its own: what is tried out here would disturb the others."""
    deployment = Standalone(tmp_path_factory.mktemp("schema"), CHEAP_PASSWORDS)
    with running(deployment):
        yield deployment


@pytest.fixture(scope="module")
def token(server: Deployment) -> str:
    answer = httpx.post(
        f"{server.url}api/v1/users/{OWNER}/tokens", auth=ADMINISTRATOR, json={"name": "all"}, timeout=20
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["sha1"])


@pytest.fixture(scope="module")
def world(server: Deployment, token: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An organization, and a repository with a commit, an issue, a pull request, a label, a comment and a hook."""
    with httpx.Client(
        base_url=f"{server.url}api/v1/", headers={"Authorization": f"token {token}"}, timeout=20
    ) as client:

        def post(path: str, **body: Any) -> None:
            answer = client.post(path, json=body)
            assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"

        post("admin/users", username="ann", email="ann@example.org", password="what ann knows")
        post(f"admin/users/{OWNER}/orgs", username="acme")
        post("user/repos", name="world")
        url = f"{server.url.replace('://', f'://{OWNER}:{token}@')}{OWNER}/world.git"
        asyncio.run(_push(tmp_path_factory.mktemp("world"), url))
        post(f"repos/{OWNER}/world/issues", title="It creaks")
        post(f"repos/{OWNER}/world/pulls", title="Oil it", head="topic", base="main")
        post(f"repos/{OWNER}/world/labels", name="bug", color="#ee0701")
        post(f"repos/{OWNER}/world/issues/1/comments", body="I hear")
        post(f"repos/{OWNER}/world/milestones", title="first")
        config = {"url": "http://127.0.0.1:9/", "content_type": "json"}
        post(f"repos/{OWNER}/world/hooks", type="gitea", config=config)


async def _push(work: Path, url: str) -> None:
    await git("init", "-q", "-b", "main", cwd=work)
    await commit_file(work, "README.md", b"# World\n", "Begin")
    await git("checkout", "-q", "-b", "topic", cwd=work)
    await commit_file(work, "topic.md", b"# Topic\n", "Go on")
    await git("push", "-q", url, "main", "topic", cwd=work)


def test_the_description_is_valid_openapi(server):
    description = httpx.get(f"{server.url}{DESCRIPTION}", timeout=20).json()

    assert description["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(description).validate()


def test_the_version_is_the_one_whose_operations_are_described(server):
    description = httpx.get(f"{server.url}{DESCRIPTION}", timeout=20).json()
    version = httpx.get(f"{server.url}api/v1/version", timeout=20).json()["version"]

    assert version.split("+")[0] == served_version(operation_ids(description))


def test_every_described_operation_is_there(server):
    description = httpx.get(f"{server.url}{DESCRIPTION}", timeout=20).json()
    missing = []
    with httpx.Client(base_url=server.url, timeout=20) as client:
        for path, item in description["paths"].items():
            for method in METHODS & item.keys():
                answer = client.request(method, re.sub(r"{[^}]*}", "1", path).lstrip("/"))
                if answer.status_code == 405 or "no such operation" in answer.text:
                    missing.append(f"{method} {path}: {answer.status_code}")

    assert not missing


@pytest.mark.usefixtures("world")
def test_no_request_on_what_exists_makes_the_server_fail(server, tmp_path):
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(WORLD)

    config = ("--config-file", str(settings))
    reads, writes = ("--include-method", "GET"), ("--exclude-method", "GET")
    covering = ("--phases", "examples,coverage,fuzzing")
    _fuzz(server, tmp_path, *config, examples="4", options=(*covering, *writes, *KEEPING_THE_WORLD))
    # A read takes a fifth of the time of a write, so there may be more of them.
    _fuzz(server, tmp_path, *config, examples="12", options=(*covering, *reads, *KEEPING_THE_WORLD[2:]))


def test_no_request_at_all_makes_the_server_fail(server, tmp_path):
    _fuzz(server, tmp_path, examples="2", options=("--phases", "examples,fuzzing"))


@pytest.mark.parametrize("role", ["a user", "nobody"])
def test_no_request_of_others_makes_the_server_fail(server, role, tmp_path):
    someone = None if role == "nobody" else ("bob", "what bob knows")
    if someone:
        new = {"username": someone[0], "email": "bob@example.org", "password": someone[1]}
        created = httpx.post(f"{server.url}api/v1/admin/users", auth=ADMINISTRATOR, json=new, timeout=20)
        assert created.status_code == 201, created.text
    _fuzz(server, tmp_path, someone=someone, examples="2", options=("--phases", "fuzzing"))


def _fuzz(
    server: Deployment,
    folder: Path,
    *first: str,
    options: tuple[str, ...] = (),
    someone: tuple[str, str] | None = ADMINISTRATOR,
    examples: str,
) -> None:
    """Bounded, with a fixed seed, as someone with the password: routes of tokens take nothing less."""
    password = base64.b64encode(":".join(someone or ()).encode()).decode()
    credential = ("--header", f"Authorization: Basic {password}") if someone else ()
    start = time.monotonic()
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("st")),
            *first,
            *("run", f"{server.url}{DESCRIPTION}", *credential),
            *("--checks", "not_a_server_error,status_code_conformance"),
            *("--max-examples", EXAMPLES or examples, "--seed", str(SEED), "--continue-on-failure"),
            *("--warnings", "off"),
            *("--suppress-health-check", "all", "--request-timeout", "20", "--no-color", *options),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=14_400 if EXAMPLES else 900,  # there are more than four hundred operations
    )
    print(*re.findall(r"\d+ generated", done.stdout), f"in {time.monotonic() - start:.0f} s")
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
