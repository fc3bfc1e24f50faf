"""Hostile names in every parameter of every route, generated from the description of the API.

In the gate each name is tried at a third of the parameters, by ``make soak`` at all (INGOT_SAFETY).

Whatever is sent, the answer is no failure of the server, and git never finds any of it where it looks for options.
"""

import os
from urllib.parse import quote
from zlib import crc32

import pytest

from ingot_chassis.http.openapi import openapi_description
from ingot_chassis.testing.long_texts import request_fields

from .world import commit, git, work_tree

EVERY = 1 if os.environ.get("INGOT_SAFETY") == "whole" else 3
MARK = "zqx"
VALUES = [
    f"-{MARK}",
    f"--upload-pack={MARK}",
    f"--output={MARK}",
    "..",
    f"../{MARK}",
    f"{MARK}/../..",
    f"/{MARK}",
    f"{MARK}//x",
    f"{MARK}\0",
    f"{MARK}\nnew",
    f"{MARK}\r\nSet-Cookie: a=b",
    f"{MARK}@{{1}}",
    f"@{{-1}}{MARK}",
    "@",
    f"{MARK}:path",
    f":{MARK}",
    f"{MARK}^{{commit}}",
    f"{MARK}~1",
    f"{MARK}*",
    "HEAD",
    f"{MARK}.git",
    ".git",
    "git~1",
    ".g\u200cit",
    f"{MARK}\u2024git",
    "\u0430pp",
    "\uff41pp",
    f"{MARK}.lock",
    f"refs/heads/{MARK}",
    f"'; DROP TABLE repository; --{MARK}",
    "%",
    "\udcff",
    f"{MARK}" * 2000,
    "0",
    "-1",
    "9" * 20,
    "0" * 40,
]
# What a database has to do with: PostgreSQL is stricter with texts and numbers.
STORED = [f"{MARK}\0", f"{MARK}\nnew", "\udcff", "9" * 20, "-1", f"{MARK}\u2024git"]
everywhere = pytest.mark.parametrize(
    ("database_backend", "value"),
    [("sqlite", value) for value in VALUES] + [("postgresql", value) for value in STORED],
    ids=range(len(VALUES) + len(STORED)),
    indirect=["database_backend"],
)
ORDINARY = {"owner": "ann", "repo": "app", "username": "ann", "org": "acme", "user": "ann"}
UNDESCRIBED = [
    ("GET", "/{owner}/{repo}/info/refs?service={query}"),
    ("POST", "/{owner}/{repo}/git-upload-pack"),
    ("GET", "/internal/repositories/by-name/{owner}/{repo}/access"),
    ("GET", "/internal/repositories/{id}/branches/{branch}"),
    ("GET", "/internal/repositories/{id}/diff?base={sha}&head={head}"),
    ("GET", "/internal/repositories/{id}/{what}"),
]


def is_turn_of(value, place):
    """Whether a value is tried at the parameter of that number."""
    return EVERY == 1 or (place + crc32(value.encode("utf-8", "surrogateescape"))) % EVERY == 0


def written(value):
    """As it stands in a URL, with bytes that are no UTF-8 among them. The client shall not resolve ``..`` itself."""
    return quote(value.encode("utf-8", "surrogateescape"), safe="").replace(".", "%2E")


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


def routes(world, app):
    """Method, path and names in the path, with defaults, and names of the query, of every route."""
    for path, operations in openapi_description(world.app)["paths"].items():
        for method, operation in operations.items():
            parameters = operation.get("parameters", [])
            names = [one["name"] for one in parameters if one["in"] == "path"]
            query = [one["name"] for one in parameters if one["in"] == "query"]
            yield method.upper(), path, names, query
    for method, path in UNDESCRIBED:
        yield method, path, [part.partition("}")[0] for part in path.split("{")[1:]], []


def filled(path, names, hostile, value, app):
    for name in names:
        ordinary = ORDINARY.get(name, str(app) if name == "id" else "master")
        path = path.replace(f"{{{name}}}", written(value) if name == hostile else ordinary)
    return path


def checked(answer, what):
    assert answer.status_code < 500, (what, answer.text)
    if answer.status_code >= 400 and answer.content:
        assert answer.json()["message"], what
    assert "set-cookie" not in answer.headers, what


def no_option_holds(git_log, value):
    for line in git_log:
        before = line[: line.index("--end-of-options")] if "--end-of-options" in line else line
        assert not any(value in argument for argument in before if MARK in value), line


@everywhere
async def test_in_paths_and_queries(world, ann, app, git_log, value):
    sent = place = 0
    for method, path, names, query in routes(world, app):
        options = {"peer": "issues"} if path.startswith("/internal") else {}
        for name in (*names, *(query if method == "GET" else ())):
            place += 1
            if is_turn_of(value, place):
                end = "" if name in names else f"?{name}={written(value)}"
                url = filled(path, names, name, value, app) + end
                checked(await ann.call(method, url, **options), (method, path, name))
                sent += 1
    no_option_holds(git_log, value)
    assert sent > 80
    assert (await ann.get("/repos/ann/app")).status_code == 200


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
    value = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
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
    for path, body in (
        ("compare", {"base_branch": value, "head_repository_id": app, "head_branch": "master"}),
        ("compare", {"base_branch": "master", "head_repository_id": app, "head_branch": value}),
        ("merge", {"number": 1, "base_branch": value, "head_sha": value, "title": value, "message": value}),
    ):
        checked(await ann.internal("POST", f"{app}/{path}", body), path)
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
