"""The description of the API is valid, and no input that it allows, or nearly allows, makes the server fail.

No response has a status that the description lacks. Most inputs go to one process on SQLite, some to a
cluster on PostgreSQL. ``make soak`` tries more (INGOT_FUZZ, the inputs for each operation), and all of them
on both.
"""

import base64
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from ingot_gateway.clients.descriptions import described_ids
from ingot_gateway.interface_version import served_version

from .deployments import (
    ADMINISTRATOR,
    CHEAP_PASSWORDS,
    BackingServers,
    Cluster,
    Deployment,
    Standalone,
    running,
)
from .parts import PATIENCE
from .schema_world import create_user, create_world

SEED = 20_171_201
EXAMPLES = os.environ.get("INGOT_FUZZ", "")
DESCRIPTION = "api/v1/openapi.json"
METHODS = {"get", "post", "put", "patch", "delete"}

ENDS = (
    *("repoDelete", "repoEdit", "orgDelete", "renameOrg", "orgDeleteTeam", "issueDelete", "repoDeleteTag"),
    *("repoDeleteBranch", "repoDeleteRelease", "repoDeleteReleaseByTag", "repoDeletePullReview"),
)
"""Operations after which others would find nothing."""
WITHOUT_ENDS = tuple(option for name in ENDS for option in ("--exclude-operation-id", name))
WITHOUT_DELETION = ("--exclude-method", "DELETE", *WITHOUT_ENDS)

LEAST = {
    "writes": 8_800,
    "reads": 8_700,
    "nothing": 830,
    "cluster": 330,
    "a user": 390,
    "a stranger": 420,
    "nobody": 680,
}
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
        else Cluster(
            folder, backing_servers(), CHEAP_PASSWORDS | {"INGOT_OBJECTS_URL": (folder / "files").as_uri()}
        )
    )
    with running(deployment):
        yield deployment


def test_the_description_is_valid_openapi(server):
    description = httpx.get(f"{server.url}{DESCRIPTION}", timeout=PATIENCE).json()

    assert description["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(description).validate()


def test_the_version_is_the_one_whose_operations_are_described(server):
    description = httpx.get(f"{server.url}{DESCRIPTION}", timeout=PATIENCE).json()
    version = httpx.get(f"{server.url}api/v1/version", timeout=PATIENCE).json()["version"]

    ids = {operation_id for ids in described_ids(description).values() for operation_id in ids}
    assert version.split("+")[0] == served_version(ids)


def test_every_described_operation_is_there(server):
    description = httpx.get(f"{server.url}{DESCRIPTION}", timeout=PATIENCE).json()
    missing = []
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as client:
        for path, item in description["paths"].items():
            for method in METHODS & item.keys():
                answer = client.request(method, re.sub(r"{[^}]*}", "1", path).lstrip("/"))
                if answer.status_code == 405 or "no such operation" in answer.text:
                    missing.append(f"{method} {path}: {answer.status_code}")

    assert not missing


def test_no_request_on_what_exists_makes_the_server_fail(server, tmp_path):
    config = create_world(server, tmp_path, ADMINISTRATOR, names_all=False)
    reads, writes = ("--include-method", "GET"), ("--exclude-method", "GET")
    covering = ("--phases", "examples,coverage,fuzzing")
    write = (*covering, *writes, *WITHOUT_DELETION)
    _fuzz(server, tmp_path, *config, what="writes", examples="4", options=write)
    # A read takes a fifth of the time of a write, so there may be more of them.
    read = (*covering, *reads)
    _fuzz(server, tmp_path, *config, what="reads", examples="14", options=read)


@pytest.mark.skipif(bool(EXAMPLES), reason="all of the inputs go to one")
@pytest.mark.parametrize("deployment", ["cluster of two"], indirect=True)
def test_no_request_of_a_user_makes_a_cluster_fail(deployment, tmp_path):
    """Other tests use this cluster too, so the user has no permission on their objects."""
    someone = ("curious", "what curious knows")
    create_user(deployment, *someone)
    config = create_world(deployment, tmp_path, someone, names_all=False)
    options = ("--phases", "fuzzing", *WITHOUT_DELETION)
    _fuzz(deployment, tmp_path, *config, what="cluster", someone=someone, examples="1", options=options)


def test_no_request_at_all_makes_the_server_fail(server, tmp_path):
    _fuzz(server, tmp_path, what="nothing", examples="2", options=("--phases", "examples,fuzzing"))


def test_twenty_thousand_inputs_are_tried():
    """Each test counts its own; together they cannot count, for they run in several processes."""
    assert sum(LEAST.values()) >= 20_000


def test_no_request_of_a_user_makes_the_server_fail(server, tmp_path):
    """At what is their own; what they have is deleted on the way."""
    someone = ("bob", "what bob knows")
    create_user(server, *someone)
    config = create_world(server, tmp_path, someone)
    options = ("--phases", "fuzzing", *WITHOUT_ENDS)
    _fuzz(server, tmp_path, *config, what="a user", someone=someone, examples="1", options=options)


@pytest.mark.parametrize(("role", "examples"), [("a stranger", "1"), ("nobody", "2")])
def test_no_request_of_others_makes_the_server_fail(server, role, examples, tmp_path):
    """Requests go to objects of another user."""
    owner, someone = (f"owner-{len(role)}", "what owners know"), None
    create_user(server, *owner)
    if role == "a stranger":
        someone = ("sam", "what sam knows")
        create_user(server, *someone)
    config = create_world(server, tmp_path, owner)
    options = ("--phases", "fuzzing")
    _fuzz(server, tmp_path, *config, what=role, someone=someone, examples=examples, options=options)


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
    # The first description takes longer than is waited for it, on a slow machine.
    httpx.get(f"{server.url}{DESCRIPTION}", timeout=PATIENCE).raise_for_status()
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
