"""Every text of a request has a limit, whether it is stored or only read: all body fields in the description.

LFS is in no description, so its bodies are described here. A field without a limit fails the test: it is
accepted, or rejected for another reason.
"""

import re
from collections import defaultdict

import msgspec
import pytest

from ingot_chassis.http.openapi import openapi_description
from ingot_chassis.security.principal import Principal
from ingot_repos.lfs.api.locks import CreateLock, VerifyLocks
from ingot_repos.lfs.api.objects import Batch, LfsObject
from ingot_testing.long_texts import request_fields

from . import lfs_client
from .world import Person

LENGTH = 5 * 1024 * 1024
"""Five times the largest limit that there is."""
JSON = {"Content-Type": "application/json"}
VALUES = {
    "owner": "acme",
    "org": "acme",
    "repo": "app",
    "username": "ann",
    "collaborator": "bob",
    "branch": "master",
    "filepath": "file.txt",
    "attachment_id": 1,
}
GOOD = {
    "name": "made",
    "repo_name": "made",
    "clone_addr": "https://git.example.org/a.git",
    "title": "made",
    "key": "ssh-ed25519 AAAA",
    "tag_name": "v9",
    "new_owner": "ann",
    "state": "success",
    "content": "",
    "new_branch_name": "made",
    "new_commit_id": "master",
    "sha": "1" * 40,
    "operation": "create",
    "path": "made",
}
"""For what a body must have."""
BODIES_OF_LFS = {
    "objects/batch": Batch,
    "verify": LfsObject,
    "locks": CreateLock,
    "locks/verify": VerifyLocks,
}
GOOD_OF_LFS = {"operation": "download", "objects": [], "oid": "1" * 64, "size": 1, "path": "made"}
LONGEST_ANSWER = 1000
FILES = ("content", "files.content", "content_base64")
WRITES_FILES = (
    "repoCreateFile",
    "repoUpdateFile",
    "repoChangeFiles",
    "repoApplyDiffPatch",
    "repoCreateWikiPage",
    "repoEditWikiPage",
)
"""A file may be as large as a body, which has a limit of its own."""
OF_IMPORTS = (
    "repoRestartMigration",
    "repoRepeatMigration",
    "repoReassignMigrationPeople",
    "adminRepeatImport",
    "adminReassignImportPeople",
)
"""404 comes first, because acme/app is no import. Their fields are those of the routes that begin imports."""


@pytest.fixture
async def fields(world, ann, bob):
    """acme/app, whose owner ann is and administers the site, with what paths below it name."""
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True)
    root = Person(world, Principal(id=1, name="ann", admin=True))
    created = await root.post("/orgs/acme/repos", {"name": "app", "auto_init": True})
    release = await root.post("/repos/acme/app/releases", {"tag_name": "v1"})
    assert release.status_code == 201, release.text
    return root, VALUES | {
        "repository_id": created.json()["id"],
        "release_id": release.json()["id"],
        "sha": created.json()["default_branch"],
    }


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)  # none gets that far
async def test_whatever_is_too_long_is_refused_by_its_field(world, fields):
    root, values = fields
    complaints = {}
    for field in request_fields(openapi_description(world.app)):
        if field.operation_id in OF_IMPORTS or (field.name in FILES and field.operation_id in WRITES_FILES):
            continue
        path = field.path.format_map(defaultdict(lambda: "1", values))
        # A tenth of the time that httpx takes.
        body = msgspec.json.encode(field.within(GOOD, field.excess(LENGTH)))
        answer = await root.call(field.method, path, content=body, headers=JSON)
        complaints[field.method, field.path, field.name] = field.complaint(answer)
    assert len(complaints) > 60
    assert {field: text for field, text in complaints.items() if text} == {}


def fields_of_lfs():
    for path, body in BODIES_OF_LFS.items():
        (schema,), schemas = msgspec.json.schema_components(
            [body], ref_template="#/components/schemas/{name}"
        )
        operation = {
            "operationId": path,
            "requestBody": {"content": {"application/json": {"schema": schema}}},
        }
        paths = {f"{lfs_client.path('acme/app')}/{path}": {"post": operation}}
        yield from request_fields({"paths": paths, "components": {"schemas": schemas}})


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_so_it_is_by_lfs(fields):
    root, _ = fields
    wrong, count = {}, 0
    for field in fields_of_lfs():
        body = msgspec.json.encode(field.within(GOOD_OF_LFS, field.excess(LENGTH)))
        answer = await root.call(field.method, field.path, content=body, headers=JSON)
        count += 1
        message = answer.json()["message"]
        names = re.search(rf"{field.name.rpartition('.')[2]}.*\d", message)
        if answer.status_code not in (400, 422) or not names:
            wrong[field.path, field.keys] = (answer.status_code, message[:LONGEST_ANSWER])
        assert len(answer.content) < LONGEST_ANSWER
    assert count == 8
    assert wrong == {}


@pytest.mark.parametrize(("field", "most"), [("title", 2_000), ("message", 65_536)])
async def test_the_texts_of_a_merge_have_limits(fields, field, most):
    root, values = fields
    path = f"{values['repository_id']}/merge"
    body = {"number": 1, "base_branch": "master", "head_sha": "0" * 40}
    answer = await root.internal("POST", path, body | {field: "x" * (most + 1)})
    assert (answer.status_code, [one["field"] for one in answer.json()["errors"]]) == (422, [field])
    assert str(most) in answer.json()["message"]
    assert (await root.internal("POST", path, body | {field: "x" * most})).status_code != 422
