"""Hostile names in every parameter of every route: those of the API, of git, of LFS, and those between
services.

No input makes the server fail, and git never takes any of it as an option.
"""

import itertools

import asyncssh
import pytest

from ingot_chassis.http.openapi import openapi_description
from ingot_chassis.jobs.workers import Workers
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_repos.placement.rules.job_kinds import on_shard
from ingot_testing.hostile_values import (
    MARK,
    STORED,
    VALUES,
    as_text,
    is_turn_of,
    undescribed,
    written,
)
from ingot_testing.long_texts import request_fields

from .ssh_world import Key, served
from .world import REPOS_KEY, commit, git, work_tree

PARTS = 9
everywhere = pytest.mark.parametrize(
    ("database_backend", "values"),
    [("sqlite", VALUES[part::PARTS]) for part in range(PARTS)] + [("postgresql", STORED)],
    ids=range(PARTS + 1),
    indirect=["database_backend"],
)
"""A world costs more than a request: each tries some values."""
EVERY = 9
"""The part of the places at which the gate tries a value."""
ORDINARY = {"owner": "ann", "repo": "app", "username": "ann", "org": "acme", "user": "ann"}
INTERNAL = {"name": "app", "command": "git-upload-pack", "lock_id": "1", "job_id": "1", "size": "3"}
"""Ordinary values for parameters without one in the API description."""
BY_HAND = [("GET", "/{owner}/{repo}/info/refs", ["owner", "repo"], ["service"], [])]
"""Routes that read their query themselves."""
NOBODY = "http://127.0.0.1:2/source.git"
"""A remote that may be asked, where nothing answers."""


@pytest.fixture
def settings():
    return {"allowed_remotes": ["127.0.0.1"]}


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
    """Return the options of a call by one of those services, or of a call without a service."""
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


async def run_jobs(world):
    """Run all jobs that wait: forks, imports, mirrors, packs. Return their number."""
    components = world.components
    upkeep = Workers("repos", components.jobs, on_shard(world.components.upkeep.work(), world.settings.shard))
    every = (
        components.workers, components.import_workers, components.mirror_workers, components.move_workers,
        upkeep,
    )  # fmt: skip
    done = 0
    while count := sum([await workers.step() for workers in every]):
        done += count
    return done


def no_option_holds(git_log, *values):
    for line in git_log:
        before = line[: line.index("--end-of-options")] if "--end-of-options" in line else line
        assert not any(value in argument for value in values for argument in before if MARK in value), line


@everywhere
async def test_in_paths_and_queries(world, ann, app, git_log, values):
    sent = place = 0
    for method, path, names, query, services in routes(world):
        for name in (*names, *(query if method == "GET" or services else ())):
            place += 1
            for value in values:
                if is_turn_of(value, place, every=EVERY):
                    end = "" if name in names else f"?{name}={written(value)}"
                    url = filled(path, names, name, value, app) + end
                    checked(await ann.call(method, url, **as_peer(services)), (method, path, name, value))
                    sent += 1
    await run_jobs(world)
    no_option_holds(git_log, *values)
    assert sent > 40 * len(values)
    assert (await ann.get("/repos/ann/app")).status_code == 200


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_in_commands_over_ssh(world, app, git_log, tmp_path):
    key = Key(tmp_path, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    login = {"username": "git", "client_keys": [str(key.file)], "known_hosts": None, "config": None}
    programs = ("git-upload-pack", "git-receive-pack", "git-upload-archive", "git-lfs-authenticate")
    async with served(world) as (_, port), asyncssh.connect("127.0.0.1", port, **login) as connection:
        for value in map(as_text, VALUES):
            for path in (f"'{value}/app'", f"'ann/{value}'", f"{value}/{value}", f"'ann/app' {value}"):
                for program in (*programs, value):
                    done = await connection.run(f"{program} {path}", input="0000", timeout=20)
                    assert done.exit_status, (program, path, done.stdout)
                    assert done.stderr, (program, path)
                    assert "Traceback" not in done.stderr
            no_option_holds(git_log, value)


@everywhere
async def test_in_bodies_that_are_not_described(world, ann, app, git_log, values):
    """Bodies of LFS and of calls between services: each field in turn, with valid values in the others."""
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
    for place, field in enumerate(fields):
        operation = document["paths"][field.path][field.method.lower()]
        (content,) = operation["requestBody"]["content"].values()
        properties = document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]][
            "properties"
        ]
        body = {key: good[key] for key in good if key in properties}
        url = filled(
            field.path, [one["name"] for one in operation["parameters"] if one["in"] == "path"], "", "", app
        )
        for value in values:
            if is_turn_of(value, place):
                sent = field.within(body, [as_text(value)] if field.is_list else as_text(value))
                answer = await ann.call(field.method, url, sent, **as_peer(operation["x-services"]))
                checked(answer, (field, value))
    no_option_holds(git_log, *values)


IN_JOBS = [
    (backend, value)
    for place, (backend, values) in enumerate({"sqlite": VALUES, "postgresql": STORED}.items())
    for value in values
    if is_turn_of(value, place)
]


@pytest.mark.parametrize(
    ("database_backend", "value"), IN_JOBS, ids=range(len(IN_JOBS)), indirect=["database_backend"]
)
async def test_in_what_jobs_find(world, ann, bob, app, git_log, value):
    """Values stored with an import, a mirror, a push mirror and a fork, if they are accepted."""
    value = as_text(value)
    secrets = {"auth_username": value, "auth_password": value, "auth_token": value}
    remote = {"clone_addr": NOBODY, "description": value}
    for number, more in enumerate(
        (
            secrets,
            {"auth_password": value},
            {"mirror": True, "mirror_interval": value},
            {"lfs_endpoint": value},
        )
    ):
        body = remote | {"repo_name": f"copy{number}", "lfs": True} | more
        checked(await ann.post("/repos/migrate", body), more)
    mirror = {"remote_address": NOBODY, "interval": "8h", "remote_username": value, "remote_password": value}
    for more in ({}, {"branch_filter": value}, {"interval": value}):
        checked(await ann.post("/repos/ann/app/push_mirrors", mirror | more), more)
    checked(await bob.post("/repos/ann/app/forks", {"name": value}), "fork")
    checked(await ann.post("/repos/ann/app/branches", {"new_branch_name": value}), "branch")
    # Then with valid bodies, for the rejected values.
    for path, body in (
        ("/repos/migrate", {"clone_addr": NOBODY, "repo_name": "copy"}),
        ("/repos/ann/app/push_mirrors", {"remote_address": NOBODY, "interval": "8h"}),
        ("/repos/ann/app/push_mirrors-sync", {}),
    ):
        assert (await ann.post(path, body)).status_code < 300, path
    checked(await bob.post("/repos/ann/app/forks"), "fork")
    assert await run_jobs(world) > 0
    assert {"ls-remote", "push"} <= {word for line in git_log for word in line}
    no_option_holds(git_log, value)


def fields(world):
    """Yield method, path, names in the path, and text fields of the body, for routes with such fields."""
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
async def test_in_fields_of_bodies(world, ann, app, git_log, values):
    """Each field in turn, with valid values in the required ones."""
    good = {
        "name": "made",
        "state": "success",
        "title": "made",
        "branch": "master",
        "tag_name": "v1",
        "clone_addr": NOBODY,
        "remote_address": NOBODY,
        "interval": "8h",
        "mirror": True,
    }
    texts, numbers = [as_text(value) for value in values], itertools.count()
    sent = place = 0
    target = "none"
    for method, path, names, properties in fields(world):
        for name in properties:
            place += 1
            for text in texts:
                if not is_turn_of(text, place, every=EVERY):
                    continue
                if (await ann.get(f"/repos/ann/{target}")).status_code != 200:
                    target = f"target{next(numbers)}"
                    await ann.create(target, auto_init=True)
                plain = filled(path, names, "", "", app).replace("/ann/app", f"/ann/{target}")
                good["repo_name"] = f"made{next(numbers)}"
                body = {key: value for key, value in good.items() if key in properties} | {name: text}
                checked(await ann.call(method, plain, body), (method, path, name, text))
                sent += 1
    for text in texts:
        sent += await in_objects_and_lists(world, ann, app, text)
    await run_jobs(world)
    no_option_holds(git_log, *texts)
    assert sent > 10 * len(values)
    assert (await ann.get("/repos/ann/app")).status_code == 200


async def in_objects_and_lists(world, ann, app, value):
    """Send each nested field in turn, with valid values in the others. Return the number of requests."""
    new = {"operation": "create", "path": "made", "content": "eA=="}
    person = {"name": "Ann", "email": "ann@example.org"}
    good = {"files": [new], "content": "eA==", "author": person, "committer": person}
    sent = 0
    for place, field in enumerate(request_fields(openapi_description(world.app))):
        if len(field.keys) < 2 or field.is_list or not is_turn_of(value, place, every=EVERY):
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
