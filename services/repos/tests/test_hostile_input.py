"""Hostile names in every parameter of every route: those of the API, of git, of LFS, and those between services.

Whatever is sent, the answer is no failure of the server, and git never finds any of it where it looks for options.
"""

import pytest

from ingot_chassis.http.openapi import openapi_description
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_chassis.testing.hostile_values import (
    MARK,
    STORED,
    VALUES,
    as_text,
    is_turn_of,
    undescribed,
    written,
)
from ingot_chassis.testing.long_texts import request_fields

from .world import REPOS_KEY, commit, git, work_tree

everywhere = pytest.mark.parametrize(
    ("database_backend", "value"),
    [("sqlite", value) for value in VALUES] + [("postgresql", value) for value in STORED],
    ids=range(len(VALUES) + len(STORED)),
    indirect=["database_backend"],
)
ORDINARY = {"owner": "ann", "repo": "app", "username": "ann", "org": "acme", "user": "ann"}
INTERNAL = {"name": "app", "command": "git-upload-pack", "lock_id": "1", "job_id": "1", "size": "3"}
"""What is ordinary where the description of the API has nothing."""
BY_HAND = [("GET", "/{owner}/{repo}/info/refs", ["owner", "repo"], ["service"], [])]
"""Routes that read their query themselves."""


@pytest.fixture
async def app(ann, world, git_url, tmp_path, git_log):
    """ann/app with some commits; its id."""
    world.organization(9, "acme")
    created = await ann.create("app")
    work = await work_tree(tmp_path)
    await commit(work, "a.txt", "one")
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    git_log.clear()
    return created["id"]


def routes(world):
    """Method, path, names in the path, names of the query, and services that it answers, of every route."""
    for description in (openapi_description(world.app), undescribed(world.app)):
        for path, operations in description["paths"].items():
            for method, operation in operations.items():
                parameters = operation.get("parameters", [])
                names = [one["name"] for one in parameters if one["in"] == "path"]
                query = [one["name"] for one in parameters if one["in"] == "query"]
                yield method.upper(), path, names, query, operation.get("x-services", [])
    yield from BY_HAND


def as_peer(services):
    """Options of a call by one of those services; by nobody else where none are named."""
    if "repos" in services:
        return {"headers": {SERVICE_HEADER: ServiceIdentity("repos", REPOS_KEY).token("repos")}}
    return {"peer": next((one for one in ("issues", "web") if one in services), "")}


def filled(path, names, hostile, value, app):
    ordinary = ORDINARY | {"id": str(app), "repository_id": str(app)}
    if not path.startswith("/api/"):
        ordinary |= INTERNAL
    for name in names:
        path = path.replace(
            f"{{{name}}}", written(value) if name == hostile else ordinary.get(name, "master")
        )
    return path


def checked(answer, what):
    assert answer.status_code < 500, (what, answer.text)
    if answer.status_code >= 400 and "json" in answer.headers.get("content-type", ""):
        assert answer.json()["message"], what
    assert "set-cookie" not in answer.headers, what


def no_option_holds(git_log, value):
    for line in git_log:
        before = line[: line.index("--end-of-options")] if "--end-of-options" in line else line
        assert not any(value in argument for argument in before if MARK in value), line


@everywhere
async def test_in_paths_and_queries(world, ann, app, git_log, value):
    sent = place = 0
    for method, path, names, query, services in routes(world):
        for name in (*names, *(query if method == "GET" or services else ())):
            place += 1
            if is_turn_of(value, place):
                end = "" if name in names else f"?{name}={written(value)}"
                url = filled(path, names, name, value, app) + end
                checked(await ann.call(method, url, **as_peer(services)), (method, path, name))
                sent += 1
    no_option_holds(git_log, value)
    assert sent > 120
    assert (await ann.get("/repos/ann/app")).status_code == 200


@everywhere
async def test_in_bodies_that_are_not_described(world, ann, app, git_log, value):
    """Of LFS, and of what services ask each other: each field by itself, beside good values of the others."""
    good = {
        "base_branch": "master",
        "head_branch": "master",
        "head_repository_id": app,
        "heads": [{"repository_id": app, "branch": "master"}],
        "head_sha": "0" * 40,
        "number": 1,
        "title": "made",
        "message": "made",
        "operation": "upload",
        "objects": [{"oid": "0" * 64, "size": 3}],
        "oid": "0" * 64,
        "size": 3,
        "ids": [app],
        "paths": [],
    }
    document = undescribed(world.app)
    fields = list(request_fields(document))
    assert {"objects.oid", "path", "heads.branch"} <= {field.name for field in fields}
    for field in fields:
        operation = document["paths"][field.path][field.method.lower()]
        (content,) = operation["requestBody"]["content"].values()
        properties = document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]][
            "properties"
        ]
        body = {key: good[key] for key in good if key in properties}
        url = filled(
            field.path, [one["name"] for one in operation["parameters"] if one["in"] == "path"], "", "", app
        )
        sent = field.within(body, [as_text(value)] if field.is_list else as_text(value))
        checked(await ann.call(field.method, url, sent, **as_peer(operation["x-services"])), field)
    no_option_holds(git_log, value)


def fields(world):
    """Method, path, names in the path, and the fields of the body that hold text, of every route that has one."""
    document = openapi_description(world.app)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            for media in content.values():
                name = media["schema"].get("$ref", "").rpartition("/")[2]
                properties = document["components"]["schemas"].get(name, {}).get("properties", {})
                names = [one["name"] for one in operation.get("parameters", []) if one["in"] == "path"]
                yield method.upper(), path, names, properties


@everywhere
async def test_in_fields_of_bodies(world, ann, app, git_log, value):
    """Each field by itself, beside good values of the required ones."""
    good = {"name": "made", "state": "success", "title": "made", "branch": "master", "tag_name": "v1"}
    value = as_text(value)
    sent = place = 0
    target = "none"
    for number, (method, path, names, properties) in enumerate(fields(world)):
        if (await ann.get(f"/repos/ann/{target}")).status_code != 200:
            target = f"target{number}"
            await ann.create(target, auto_init=True)
        for name in properties:
            place += 1
            if not is_turn_of(value, place):
                continue
            plain = filled(path, names, "", "", app).replace("/ann/app", f"/ann/{target}")
            body = {key: text for key, text in good.items() if key in properties} | {name: value}
            checked(await ann.call(method, plain, body), (method, path, name))
            sent += 1
    sent += await in_objects_and_lists(world, ann, app, value)
    no_option_holds(git_log, value)
    assert sent > 20
    assert (await ann.get("/repos/ann/app")).status_code == 200


async def in_objects_and_lists(world, ann, app, value):
    """Each field of those in bodies, beside good values; how many were sent."""
    new = {"operation": "create", "path": "made", "content": "eA=="}
    person = {"name": "Ann", "email": "ann@example.org"}
    good = {"files": [new], "content": "eA==", "author": person, "committer": person}
    sent = 0
    for place, field in enumerate(request_fields(openapi_description(world.app))):
        if len(field.keys) < 2 or field.is_list or not is_turn_of(value, place):
            continue
        names = [part.partition("}")[0] for part in field.path.split("{")[1:]]
        required = "files" if field.path.endswith("/contents") else "content"
        body = {"message": "made", "branch": "master"} | {
            key: good[key] for key in good if key in (required, field.keys[0])
        }
        url = filled(field.path, names, "", "", app)
        checked(await ann.call(field.method, url, field.within(body, value)), field)
        sent += 1
    return sent
