"""The description of the API is valid, and nothing that it allows, or nearly allows, makes the server fail.

Nor is anything answered with a status that the description lacks. Most inputs go to one process on SQLite, some to a
cluster on PostgreSQL. ``make soak`` tries more (INGOT_FUZZ, the inputs for each operation), and all of them on both.
"""

import asyncio
import base64
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from ingot_gateway.interface_version import served_version
from ingot_gateway.openapi_merge import operation_ids

from .deployments import (
    ADMINISTRATOR,
    CHEAP_PASSWORDS,
    BackingServers,
    Cluster,
    Deployment,
    Standalone,
    running,
)
from .history import commit_file, git

SEED = 20_171_201
EXAMPLES = os.environ.get("INGOT_FUZZ", "")
DESCRIPTION = "api/v1/openapi.json"
METHODS = {"get", "post", "put", "patch", "delete"}

WORLD = """
[parameters]
"path.owner" = "{owner}"
"path.username" = "{owner}-friend"
"path.repo" = "world"
"path.org" = "{owner}-team"
"path.index" = 2
"path.repository_id" = 1
"path.team_id" = 1
"path.comment_id" = 1
"path.hook_id" = 1
"path.label_id" = 1
"path.milestone_id" = 1
"path.collaborator" = "{owner}-friend"
"path.tracker" = "{owner}"
"path.branch" = "main"
"path.ref" = "main"
"path.sha" = "main"
"path.filepath" = "main/README.md"

[[operations]]
include-operation-id = "repoGetArchive"
parameters = { "path.filepath" = "main.zip" }
"""
"""What exists, for the parameters that name something; number 2 is a pull request, and so an issue as well."""

KEEPING_THE_WORLD = (
    *("--exclude-method", "DELETE"),
    *("--exclude-path", "/api/v1/repos/{owner}/{repo}"),  # may be renamed
)


LEAST = {"writes": 8_800, "reads": 8_700, "nothing": 830, "a user": 830, "nobody": 830, "cluster": 330}
"""Inputs of each kind in the gate; there were some 3 % more when this was written."""


@pytest.fixture(scope="module", params=["standalone", "cluster"] if EXAMPLES else ["standalone"])
def server(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    backing_servers: Callable[[], BackingServers],
) -> Iterator[Deployment]:
    """One of its own: what is tried out here would disturb the others."""
    folder = tmp_path_factory.mktemp("schema")
    deployment = (
        Standalone(folder, CHEAP_PASSWORDS)
        if request.param == "standalone"
        else Cluster(folder, backing_servers(), CHEAP_PASSWORDS)
    )
    with running(deployment):
        yield deployment


def create_user(server: Deployment, name: str, password: str) -> None:
    new = {"username": name, "email": f"{name}@example.org", "password": password}
    created = httpx.post(f"{server.url}api/v1/admin/users", auth=ADMINISTRATOR, json=new, timeout=20)
    assert created.status_code == 201, created.text


def create_world(server: Deployment, folder: Path, owner: tuple[str, str]) -> tuple[str, str]:
    """An organization, and a repository with a commit, an issue, a pull request, a label, a comment and a hook.

    Gives the options by which their names are used in paths.
    """
    name = owner[0]
    create_user(server, f"{name}-friend", "what friends know")
    created = httpx.post(
        f"{server.url}api/v1/users/{name}/tokens", auth=owner, json={"name": "all"}, timeout=20
    )
    assert created.status_code == 201, created.text
    token = created.json()["sha1"]
    with httpx.Client(
        base_url=f"{server.url}api/v1/", headers={"Authorization": f"token {token}"}, timeout=20
    ) as client:

        def post(path: str, **body: Any) -> None:
            answer = client.post(path, json=body)
            assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"

        post("orgs", username=f"{name}-team")
        post("user/repos", name="world")
        url = f"{server.url.replace('://', f'://{name}:{token}@')}{name}/world.git"
        (folder / "world").mkdir()
        asyncio.run(_push(folder / "world", url))
        post(f"repos/{name}/world/issues", title="It creaks")
        post(f"repos/{name}/world/pulls", title="Oil it", head="topic", base="main")
        post(f"repos/{name}/world/labels", name="bug", color="#ee0701")
        post(f"repos/{name}/world/issues/1/comments", body="I hear")
        post(f"repos/{name}/world/milestones", title="first")
        config = {"url": "http://127.0.0.1:9/", "content_type": "json"}
        post(f"repos/{name}/world/hooks", type="gitea", config=config)
    settings = folder / "schemathesis.toml"
    settings.write_text(WORLD.replace("{owner}", name))
    return "--config-file", str(settings)


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


def test_no_request_on_what_exists_makes_the_server_fail(server, tmp_path):
    config = create_world(server, tmp_path, ADMINISTRATOR)
    reads, writes = ("--include-method", "GET"), ("--exclude-method", "GET")
    covering = ("--phases", "examples,coverage,fuzzing")
    write = (*covering, *writes, *KEEPING_THE_WORLD)
    _fuzz(server, tmp_path, *config, what="writes", examples="4", options=write)
    # A read takes a fifth of the time of a write, so there may be more of them.
    read = (*covering, *reads, *KEEPING_THE_WORLD[2:])
    _fuzz(server, tmp_path, *config, what="reads", examples="14", options=read)


@pytest.mark.skipif(bool(EXAMPLES), reason="all of the inputs go to one")
@pytest.mark.parametrize("deployment", ["cluster of two"], indirect=True)
def test_no_request_of_a_user_makes_a_cluster_fail(deployment, tmp_path):
    """The cluster is that of other tests, so this is somebody who can do nothing to them."""
    someone = ("curious", "what curious knows")
    create_user(deployment, *someone)
    config = create_world(deployment, tmp_path, someone)
    options = ("--phases", "fuzzing", *KEEPING_THE_WORLD)
    _fuzz(deployment, tmp_path, *config, what="cluster", someone=someone, examples="1", options=options)


def test_no_request_at_all_makes_the_server_fail(server, tmp_path):
    _fuzz(server, tmp_path, what="nothing", examples="2", options=("--phases", "examples,fuzzing"))


def test_twenty_thousand_inputs_are_tried():
    """Each test counts its own; together they cannot count, for they run in several processes."""
    assert sum(LEAST.values()) >= 20_000


@pytest.mark.parametrize("role", ["a user", "nobody"])
def test_no_request_of_others_makes_the_server_fail(server, role, tmp_path):
    someone = None if role == "nobody" else ("bob", "what bob knows")
    if someone:
        create_user(server, *someone)
    _fuzz(server, tmp_path, what=role, someone=someone, examples="2", options=("--phases", "fuzzing"))


def _fuzz(
    server: Deployment,
    folder: Path,
    *first: str,
    what: str,
    options: tuple[str, ...] = (),
    someone: tuple[str, str] | None = ADMINISTRATOR,
    examples: str,
) -> None:
    """In the gate at least so many inputs as ``LEAST`` says of ``what``, with a fixed seed.

    As someone with the password: routes of tokens take nothing less.
    """
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
    generated = sum(map(int, re.findall(r"(\d+) generated", done.stdout)))
    print(f"{what}: {generated} inputs in {time.monotonic() - start:.0f} s")
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert EXAMPLES or generated >= LEAST[what]
