"""Access to every public route, by role and by kind of credential.

An allowed change needs a new repository, which costs more than the call. So the gate tries only two of the
allowed callers, ``make soak`` tries all (INGOT_SAFETY).
"""

import base64
import hashlib
import itertools
from zlib import crc32

import pytest

from ingot_chassis.security.principal import Principal
from ingot_testing.hostile_values import WHOLE
from ingot_testing.non_empty import non_empty

from . import code_matrix

ROLES = {
    "anonymous": 0,
    "stranger": 20,
    "reader": 21,
    "writer": 22,
    "administrator": 23,
    "team": 24,
    "owner": 25,
    "site": 26,
}
"""The role and the id of each person in the private repository acme/app. ``team`` writes through a team."""
LEVEL_OF = {"reader": 1, "writer": 2, "administrator": 3, "team": 2, "owner": 4, "site": 4}
LEVELS = ("signed-in", "read", "write", "admin", "owner")


def at(level, success):
    """Return statuses of each role for a route below the repository that needs ``level``."""

    def of(role):
        if role not in LEVEL_OF:
            return 404
        return success if LEVEL_OF[role] >= max(1, LEVELS.index(level)) else 403

    return tuple(of(role) for role in ROLES)


def signed_in(success):
    return (401, *[success] * 7)


def members(success):
    """Of the organization, and administrators of the site; to the others its teams do not exist."""
    return (401, 404, 404, 404, 404, success, success, success)


READ, WRITE, ADMIN = at("read", 200), at("write", 200), at("admin", 204)
TEAMS = (404, 404, 403, 403, 200, 200, 200, 200)
"""Teams are for members of the organization and for administrators of the repository."""
ANYBODY = (200,) * 8
GIT_READ = (401, *READ[1:])
GIT_WRITE = (401, *WRITE[1:])
R = "/repos/{repo}"
LFS_OID = hashlib.sha256(b"{}").hexdigest()

MATRIX = {
    f"GET {R}": READ,
    f"PATCH {R}": at("admin", 200),
    f"DELETE {R}": at("owner", 204),
    f"POST {R}/avatar": ADMIN,
    f"DELETE {R}/avatar": ADMIN,
    "GET //avatars/repositories/{id}/0a": at("read", 404),  # it has none
    "DELETE /orgs/acme/repos": (401, *[403] * 5, 202, 202),
    "GET /orgs/acme/exports": (401, *[403] * 5, 200, 200),
    "POST /orgs/acme/exports": (401, *[403] * 5, 202, 409),  # that of the owner is running
    "GET /orgs/acme/exports/7": (401, *[403] * 5, 404, 404),  # it was not exported
    "DELETE /orgs/acme/exports/7": (401, *[403] * 5, 404, 404),
    "GET /orgs/acme/exports/7/repositories": (401, *[403] * 5, 404, 404),
    "GET /orgs/acme/exports/7/archive": (401, *[403] * 5, 404, 404),
    f"POST {R}/transfer": at("owner", 202),
    f"POST {R}/transfer/accept": (404,) * 8,  # none waits
    f"POST {R}/transfer/reject": (404,) * 8,
    f"GET {R}/transfer": (404,) * 8,
    f"POST {R}/reparent": at("admin", 422),  # the new owner has no fork of it
    f"POST {R}/reparent/accept": (404,) * 8,
    f"POST {R}/reparent/reject": (404,) * 8,
    f"GET {R}/export": at("admin", 404),  # it was not exported
    f"POST {R}/export": at("admin", 202),
    f"DELETE {R}/export": at("admin", 404),
    f"GET {R}/export/archive": at("admin", 404),
    f"GET {R}/migration": at("admin", 404),  # it was not migrated
    f"POST {R}/migration": at("admin", 404),
    f"DELETE {R}/migration": at("admin", 404),
    f"POST {R}/mirror-sync": at("write", 400),  # it is no mirror
    f"GET {R}/issue_templates": READ,
    f"GET {R}/issue_config": READ,
    f"GET {R}/issue_config/validate": READ,
    f"POST {R}/merge-upstream": at("write", 400),  # it is no fork
    f"GET {R}/push_mirrors": at("admin", 200),
    f"POST {R}/push_mirrors": at("admin", 200),
    f"GET {R}/push_mirrors/none": at("admin", 404),
    f"DELETE {R}/push_mirrors/none": at("admin", 404),
    f"POST {R}/push_mirrors-sync": at("admin", 200),
    f"GET {R}/branches": READ,
    f"GET {R}/branches/master": READ,
    f"GET {R}/raw/README.md": READ,
    f"GET {R}/archive/master.zip": READ,
    f"GET {R}/signing-key.gpg": at("read", 404),  # the server has no key
    f"GET {R}/signing-key.pub": at("read", 404),
    f"GET {R}/editorconfig/README.md": at("read", 404),  # there is no .editorconfig
    f"GET {R}/collaborators": WRITE,
    f"GET {R}/collaborators/reader": at("write", 204),
    f"PUT {R}/collaborators/stranger": ADMIN,
    f"POST {R}/collaborators": at("admin", 201),
    f"GET {R}/invitations": at("admin", 200),
    f"DELETE {R}/invitations/7": at("admin", 404),
    f"GET {R}/collaborators/nina/permission": at("admin", 200),
    f"GET {R}/assignees": READ,
    f"GET {R}/assignees/reader": at("read", 404),
    f"GET {R}/reviewers": READ,
    f"DELETE {R}/collaborators/nina": ADMIN,
    f"GET {R}/teams": TEAMS,
    f"GET {R}/teams/team51": TEAMS,
    f"PUT {R}/teams/team52": ADMIN,
    f"DELETE {R}/teams/team51": ADMIN,
    f"GET {R}/actions/variables": at("admin", 200),
    f"GET {R}/actions/variables/{{variable}}": at("admin", 200),
    f"POST {R}/actions/variables/fresh": at("admin", 201),
    f"PUT {R}/actions/variables/{{variable}}": ADMIN,
    f"DELETE {R}/actions/variables/{{variable}}": ADMIN,
    f"GET {R}/keys": at("admin", 200),
    f"POST {R}/keys": at("admin", 201),
    f"GET {R}/keys/{{key}}": at("admin", 200),
    f"DELETE {R}/keys/{{key}}": ADMIN,
    f"GET {R}/forks": READ,
    f"POST {R}/forks": at("signed-in", 202),
    f"POST {R}/generate": at("signed-in", 422),  # it is no template
    f"GET {R}/releases": READ,
    f"POST {R}/releases": at("write", 201),
    f"GET {R}/releases/latest": READ,
    f"GET {R}/releases/tags/v1": READ,
    f"GET {R}/releases/{{release}}": READ,
    f"PATCH {R}/releases/{{release}}": WRITE,
    f"DELETE {R}/releases/{{release}}": at("write", 204),
    f"DELETE {R}/releases/tags/v1": at("write", 204),
    f"GET {R}/releases/{{release}}/assets": READ,
    f"POST {R}/releases/{{release}}/assets?name=b.zip": at("write", 201),
    f"GET {R}/releases/{{release}}/assets/{{asset}}": READ,
    f"PATCH {R}/releases/{{release}}/assets/{{asset}}": at("write", 201),
    f"DELETE {R}/releases/{{release}}/assets/{{asset}}": at("write", 204),
    "GET //{repo}/releases/download/v1/a.zip": READ,
    "GET //{repo}/releases/assets/{uuid}": READ,
    f"GET {R}/statuses/master": READ,
    f"POST {R}/statuses/master": at("write", 201),
    f"GET {R}/commits/master/statuses": READ,
    f"GET {R}/commits/master/status": READ,
    f"GET {R}/commits/w/one/status": READ,
    f"GET {R}/commits/w/status/one/status": READ,
    f"GET {R}/commits/w/statuses/one/status": READ,
    f"GET {R}/stargazers": READ,
    f"GET {R}/subscribers": READ,
    f"GET {R}/activities/feeds": READ,
    f"GET {R}/subscription": (*[404] * 7, 200),  # who made it watches it
    f"PUT {R}/subscription": at("signed-in", 200),
    f"DELETE {R}/subscription": at("signed-in", 204),
    f"GET {R}/branch_protections": WRITE,
    f"POST {R}/branch_protections": at("admin", 201),
    f"POST {R}/branch_protections/priority": ADMIN,
    f"GET {R}/branch_protections/next": WRITE,
    f"PATCH {R}/branch_protections/next": at("admin", 200),
    f"DELETE {R}/branch_protections/next": ADMIN,
    f"GET {R}/tag_protections": WRITE,
    f"POST {R}/tag_protections": at("admin", 201),
    f"GET {R}/tag_protections/{{tag_rule}}": WRITE,
    f"PATCH {R}/tag_protections/{{tag_rule}}": at("admin", 200),
    f"DELETE {R}/tag_protections/{{tag_rule}}": ADMIN,
    "GET /user/starred/{repo}": (401, *[404] * 7),
    "PUT /user/starred/{repo}": (401, *at("read", 204)[1:]),
    "DELETE /user/starred/{repo}": (401, *at("read", 204)[1:]),
    "GET /user/starred": signed_in(200),
    "GET /user/subscriptions": signed_in(200),
    "GET /users/nina/starred": signed_in(200),
    "GET /users/nina/subscriptions": signed_in(200),
    "GET /repositories/{id}": (401, *READ[1:]),
    "GET /repos/search": ANYBODY,
    "GET /repos/migrate/{id}": (401, *at("admin", 404)[1:]),
    "POST /repos/migrate/{id}/again": (401, *at("admin", 404)[1:]),
    "POST /repos/migrate/{id}/people": (401, *at("admin", 404)[1:]),
    "GET /repos/migrate/{id}/conflicts": (401, *at("admin", 404)[1:]),
    "DELETE /repos/migrate/{id}": (401, *at("owner", 404)[1:]),
    "POST /repos/migrate": signed_in(422),  # from nowhere
    "POST /repos/migrate/archive": signed_in(422),  # no archive
    "GET /user/repos": signed_in(200),
    "POST /user/repos": signed_in(201),
    "GET /users/nina/repos": ANYBODY,
    "GET /orgs/acme/repos": ANYBODY,
    "GET /orgs/acme/activities/feeds": ANYBODY,
    "GET /users/nina/activities/feeds": ANYBODY,
    "GET /users/nina/heatmap": ANYBODY,
    "POST /org/acme/repos": (401, *[403] * 5, 201, 201),
    "POST /orgs/acme/repos": (401, *[403] * 5, 201, 201),
    "POST /admin/users/nina/repos": (*[403] * 7, 201),
    "GET /admin/imports": (*[403] * 7, 200),
    "POST /admin/imports": (*[403] * 7, 422),
    "GET /admin/imports/1": (*[403] * 7, 404),
    "GET /admin/imports/1/repositories": (*[403] * 7, 404),
    "GET /admin/imports/1/teams": (*[403] * 7, 404),
    "GET /admin/imports/1/absent_members": (*[403] * 7, 404),
    "DELETE /admin/imports/1": (*[403] * 7, 404),
    "POST /admin/imports/1/again": (*[403] * 7, 404),
    "POST /admin/imports/1/people": (*[403] * 7, 404),
    "GET /admin/unadopted": (*[403] * 7, 200),
    "POST /admin/unadopted/nina/none": (*[403] * 7, 404),
    "DELETE /admin/unadopted/nina/none": (*[403] * 7, 404),
    "GET /teams/51/activities/feeds": members(200),
    "GET /teams/51/repos": members(200),
    "GET /teams/51/repos/{repo}": members(200),
    "PUT /teams/52/repos/{repo}": (401, 404, 404, 404, 404, 403, 204, 204),
    "DELETE /teams/51/repos/{repo}": (401, 404, 404, 404, 404, 403, 204, 204),
    "GET /gitignore/templates": ANYBODY,
    "GET /label/templates": ANYBODY,
    "GET /label/templates/Default": ANYBODY,
    "GET /gitignore/templates/Go": ANYBODY,
    "GET /licenses": ANYBODY,
    "GET /signing-key.gpg": (404,) * 8,
    "GET /signing-key.pub": (404,) * 8,
    "GET /licenses/MIT": ANYBODY,
    "GET //{repo}.git/info/refs?service=git-upload-pack": GIT_READ,
    "GET //{repo}/info/refs?service=git-receive-pack": GIT_READ,  # who may read may propose commits
    "GET //{repo}.git/clone.bundle": (401, *at("read", 404)[1:]),  # it is too small for one
    "POST //{repo}/git-upload-pack": GIT_READ,
    "POST //{repo}/git-receive-pack": GIT_READ,
    "POST //{repo}.git/info/lfs/objects/batch": GIT_READ,
    f"GET //{{repo}}.git/info/lfs/objects/{LFS_OID}": (401, *at("read", 404)[1:]),
    f"PUT //{{repo}}.git/info/lfs/objects/{LFS_OID}/2": GIT_WRITE,
    "POST //{repo}.git/info/lfs/verify": (401, *at("write", 404)[1:]),
    "GET //{repo}.git/info/lfs/locks": GIT_READ,
    "POST //{repo}.git/info/lfs/locks": (401, *at("write", 201)[1:]),
    "POST //{repo}.git/info/lfs/locks/verify": GIT_WRITE,
    "POST //{repo}.git/info/lfs/locks/1/unlock": (401, *at("write", 404)[1:]),
}
"""``METHOD path`` -> the results of the roles with a password, in the order of ``ROLES``. ``//`` is not the
API."""

MATRIX |= {key: at("read", success) for key, success in code_matrix.READ.items()}
MATRIX |= {key: at("write", success) for key, success in code_matrix.WRITE.items()}
MATRIX |= {key: at("admin", success) for key, success in code_matrix.ADMIN.items()}
MATRIX["GET /topics/search"] = ANYBODY
MATRIX |= {f"GET {R}/wiki/{path}": at("read", 200) for path in ("pages", "page/Home", "revisions/Home")}
MATRIX |= {
    "GET //{repo}/wiki/raw/Home.md": at("read", 200),
    f"POST {R}/wiki/new": at("write", 201),
    f"PATCH {R}/wiki/page/Home": at("write", 200),
    f"DELETE {R}/wiki/page/Home": at("write", 204),
    "GET //{repo}.wiki.git/info/refs?service=git-upload-pack": GIT_READ,
    "GET //{repo}.wiki.git/info/refs?service=git-receive-pack": GIT_WRITE,
    "POST //{repo}.wiki/git-upload-pack": GIT_READ,
    "POST //{repo}.wiki/git-receive-pack": GIT_WRITE,
}

KEYS = itertools.count(1)


def ssh_key():
    blob = b"\0\0\0\x0bssh-ed25519\0\0\0 " + next(KEYS).to_bytes(32)
    return base64.b64encode(blob).decode()


def name():
    return f"n{next(KEYS)}"


GIF = "R0lGODlhAQABAAAAACw="

BODIES = {
    f"PATCH {R}": lambda: {"description": "new"},
    f"POST {R}/avatar": lambda: {"image": GIF},
    f"POST {R}/transfer": lambda: {"new_owner": "other"},
    f"POST {R}/reparent": lambda: {"new_owner": "other"},
    f"POST {R}/branch_protections": lambda: {"rule_name": name()},
    f"POST {R}/branch_protections/priority": lambda: {"ids": []},
    f"POST {R}/tag_protections": lambda: {"name_pattern": name()},
    f"POST {R}/actions/variables/fresh": lambda: {"value": "v"},
    f"PUT {R}/actions/variables/{{variable}}": lambda: {"value": "v"},
    f"POST {R}/keys": lambda: {"title": name(), "key": ssh_key()},
    f"POST {R}/releases": lambda: {"tag_name": name()},
    f"PATCH {R}/releases/{{release}}": lambda: {"body": "new"},
    f"POST {R}/collaborators": lambda: {"email": f"{name()}@x.io"},
    f"POST {R}/push_mirrors": lambda: {"remote_address": "https://ingot.test/x.git"},
    f"PATCH {R}/releases/{{release}}/assets/{{asset}}": lambda: {"name": "c.zip"},
    f"POST {R}/statuses/master": lambda: {"state": "success"},
    "POST //{repo}.git/info/lfs/objects/batch": lambda: {"operation": "download", "objects": []},
    "POST //{repo}.git/info/lfs/verify": lambda: {"oid": LFS_OID, "size": 2},
    "POST //{repo}.git/info/lfs/locks": lambda: {"path": "a.psd"},
    f"POST {R}/wiki/new": lambda: {"title": name()},
    f"PATCH {R}/wiki/page/Home": lambda: {"message": "new"},
    "POST /user/repos": lambda: {"name": name()},
    "POST /org/acme/repos": lambda: {"name": name()},
    "POST /orgs/acme/repos": lambda: {"name": name()},
    "POST /admin/users/nina/repos": lambda: {"name": name()},
}
BODIES |= code_matrix.BODIES
SCOPES = {"token": ["all"], "reading": ["read"], "elsewhere": ["read:hook"]}


def shape(path):
    """A path with its parameters blanked."""
    return "/".join("*" if part.startswith("{") else part for part in path.split("?")[0].split("/"))


def public_routes(app):
    """``METHOD path`` -> policy, of everything that is routed from outside."""
    policies = {}
    for route in app.routes:
        if route.path.startswith(("/internal/", "/livez", "/readyz", "/metrics")):
            continue
        path = route.path.removeprefix("/api/v1") if route.path.startswith("/api/v1") else "/" + route.path
        for handler in getattr(route, "route_handlers", []):
            for method in handler.http_methods - {"OPTIONS", "HEAD"}:
                policies[f"{method} {shape(path)}"] = handler.opt["policy"]
    return policies


def matches(pattern, key):
    """True if a key of the matrix is a call of the route with that shape. Some ends may have slashes."""
    (method, path), (key_method, key_path) = pattern.split(" "), key.split(" ")
    parts = path.split("/")
    segments = key_path.replace("{repo}", "acme/app").split("?")[0].split("/")
    if ("/commits/" in path or "/download/" in path) and parts[-1] == "*":
        segments[len(parts) - 1 :] = ["/".join(segments[len(parts) - 1 :])]
    return (
        method == key_method
        and len(parts) == len(segments)
        and all(part in ("*", segment) for part, segment in zip(parts, segments, strict=True))
    )


def route_of(routes, key):
    """The route that a key of the matrix calls; literal segments come before parameters."""
    fitting = [pattern for pattern in routes if matches(pattern, key)]
    return min(fitting, key=lambda pattern: [part == "*" for part in pattern.split("/")])


class Stage:
    """A private repository acme/app with all its roles, again after every call that changed something."""

    def __init__(self, world):
        self.world, self.stock = world, {}
        for login, id_ in ROLES.items():
            if id_:
                world.identity.add_account(id_, login, email=f"{login}@example.org")
        world.identity.add_account(30, "nina")
        world.organization(9, "acme")
        world.organization(8, "other")
        world.identity.add_team(51, 9, "write")
        world.identity.add_team(52, 9, "read")
        world.identity.join(24, 9, teams={51: "write"})
        for organization in (8, 9):
            world.identity.join(25, organization, owner=True)

    def person(self, role, **more):
        id_ = ROLES[role]
        principal = Principal(id=id_, name=role, via="basic", admin=role == "site", **more)
        return self.world.person(principal if id_ else Principal())

    async def repository(self):
        """The path of the repository and what is below it, as the placeholders of the matrix."""
        if not self.stock:
            root = self.person("site")
            path = f"/api/v1/repos/acme/{name()}"
            body = {"name": path.rsplit("/", 1)[1], "private": True, "auto_init": True}
            stock = await root.call("POST", "/api/v1/org/acme/repos", body)
            for role, mode in (("reader", "read"), ("writer", "write"), ("administrator", "admin")):
                await root.call("PUT", f"{path}/collaborators/{role}", {"permission": mode})
            await self.person("owner").call("PUT", f"/api/v1/teams/51/repos/{path[14:]}")
            release = await root.call("POST", f"{path}/releases", {"tag_name": "v1"})
            asset_path = f"{path}/releases/{release.json()['id']}/assets?name=a.zip"
            asset = (await root.call("POST", asset_path, {})).json()
            key = await root.call("POST", f"{path}/keys", {"title": "k", "key": ssh_key()})
            await root.call("POST", f"{path}/actions/variables/one", {"value": "v"})
            await root.call("POST", f"{path}/branch_protections", {"rule_name": "next"})
            await root.call("POST", f"{path}/wiki/new", {"title": "Home"})
            tag_rule = await root.call("POST", f"{path}/tag_protections", {"name_pattern": "next"})
            git = self.world.components.storage.open(stock.json()["id"])
            for branch in ("w/one", "w/status/one", "w/statuses/one"):
                git.references.create(f"refs/heads/{branch}", git.head.target)
            self.stock = {
                "repo": path.removeprefix("/api/v1/repos/"),
                "id": stock.json()["id"],
                "release": release.json()["id"],
                "asset": asset["id"],
                "uuid": asset["uuid"],
                "key": key.json()["id"],
                "variable": "one",
                "tag_rule": tag_rule.json()["id"],
            }
        return self.stock

    async def call(self, person, key, **sent):
        method, path = key.split(" ")
        filled = path.format(**await self.repository())
        target = filled[1:] if filled.startswith("//") else f"/api/v1{filled}"
        if target.endswith("-pack"):
            media_type = f"application/x-{target.rsplit('/', 1)[1]}-request"
            sent = {"content": b"0000", "headers": {"content-type": media_type}}
        answer = await person.call(method, target, **sent)
        if answer.is_success and method != "GET":
            self.stock = {}
        return answer


@pytest.fixture
async def stage(world):
    return Stage(world)


def test_every_route_is_in_the_matrix(world):
    routes = public_routes(world.app)
    assert set(routes) == {route_of(routes, key) for key in MATRIX}


def in_parts(keys, parts=10):
    """Keys of the matrix for tests that each walk through a part of them: a world costs more than a call."""
    keys = list(keys)
    on_sqlite = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
    some = pytest.mark.parametrize("keys", [keys[part::parts] for part in range(parts)], ids=range(parts))
    return lambda test: on_sqlite(some(test))


def roles_for(key):
    """Whom the gate lets call a route: of those who may make a change two, and everybody else."""
    answers = dict(zip(ROLES, MATRIX[key], strict=True))
    allowed = [role for role, status in answers.items() if status < 300]
    if WHOLE or key.startswith("GET") or len(allowed) < 2:
        return list(ROLES)
    another = allowed[1 + crc32(key.encode()) % (len(allowed) - 1)]
    return [role for role in ROLES if role not in allowed or role in (allowed[0], another)]


def body_of(key):
    return BODIES.get(key, dict)() if not key.startswith("GET") else None


@in_parts(MATRIX)
async def test_a_route_answers_each_role_as_the_matrix_says(stage, keys):
    answers, expected = {}, {}
    for key in keys:
        for role in roles_for(key):
            answers[key, role] = (await stage.call(stage.person(role), key, body=body_of(key))).status_code
            expected[key, role] = dict(zip(ROLES, MATRIX[key], strict=True))[role]
    assert answers == expected


@in_parts(MATRIX)
async def test_a_token_does_what_its_scopes_say(stage, keys):
    routes = public_routes(stage.world.app)
    answers, expected = {}, {}
    for key in keys:
        scope = routes[route_of(routes, key)].scope
        scope = scope or ("write:repository" if "receive" in key else "read:repository")
        by_role = dict(zip(ROLES, MATRIX[key], strict=True))
        for role, kind in itertools.product(("stranger", "owner", "site"), SCOPES):
            scopes = [scope.replace("write:", "read:")] if kind == "reading" else SCOPES[kind]
            person = stage.person(role, scopes=scopes)
            status = by_role[role] if person.principal.may(scope) else 403
            if role != "site" or status >= 300 or WHOLE or key.startswith("GET"):
                answers[key, role, kind] = (await stage.call(person, key, body=body_of(key))).status_code
                expected[key, role, kind] = status
    assert answers == expected


@in_parts(key for key in MATRIX if not key.startswith(("GET", "POST //")))
async def test_who_is_refused_is_refused_whatever_they_send(stage, keys):
    for key in non_empty(keys):
        for role, expected in zip(ROLES, MATRIX[key], strict=True):
            if expected not in (401, 403, 404):
                continue
            for body in (b"{", b'{"name": 5, "title": [], "new_owner": {}}'):
                sent = {"content": body, "headers": {"content-type": "application/json"}}
                answer = await stage.call(stage.person(role), key, **sent)
                assert (key, role, answer.status_code) == (key, role, expected)


@in_parts(key for key in MATRIX if "{repo}" in key)
async def test_what_one_may_not_see_answers_as_what_is_not_there(stage, keys):
    for key in non_empty(keys):
        await stage.repository()
        for role in ("anonymous", "stranger"):
            there = await stage.call(stage.person(role), key, body=BODIES.get(key, dict)())
            stock, stage.stock = stage.stock, stage.stock | {"repo": "acme/nothing"}
            absent = await stage.call(stage.person(role), key, body=BODIES.get(key, dict)())
            stage.stock = stock
            assert (key, there.status_code, there.content) == (key, absent.status_code, absent.content)
            assert there.headers.keys() == absent.headers.keys(), key


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("key", [key for key in MATRIX if "{release}" in key or "{key}" in key])
async def test_a_thing_is_not_found_below_another_repository(stage, key):
    stock = await stage.repository()
    stage.stock = {}
    other = (await stage.repository())["repo"]
    stage.stock = stock | {"repo": other}
    answer = await stage.call(stage.person("owner"), key, body=BODIES.get(key, dict)())
    expected = 204 if key.startswith(f"DELETE {R}/keys") else 404  # an unknown key is no error
    assert answer.status_code == expected
    stage.stock = stock
    reading = f"GET {key.split(' ')[1]}"
    remainder = await stage.call(stage.person("owner"), reading)
    assert remainder.status_code == 200
