"""Who may call what: every public route, by role and by kind of credential."""

import base64
import itertools

import pytest

from ingot_chassis.principal import Principal

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
"""What somebody is to the private repository acme/app, and their id. ``team`` may write through a team."""
HELD = {"reader": 1, "writer": 2, "administrator": 3, "team": 2, "owner": 4, "site": 4}
LEVELS = ("signed-in", "read", "write", "admin", "owner")


def at(level, success):
    """What each role gets from a route below the repository that asks for ``level``."""

    def of(role):
        if role not in HELD:
            return 404
        return success if HELD[role] >= max(1, LEVELS.index(level)) else 403

    return tuple(of(role) for role in ROLES)


def signed_in(success):
    return (401, *[success] * 7)


def members(success):
    """Of the organization; to the others its teams do not exist, not even to administrators of the site."""
    return (401, 404, 404, 404, 404, success, success, 404)


READ, WRITE, ADMIN = at("read", 200), at("write", 200), at("admin", 204)
ANYBODY = (200,) * 8
GIT_READ = (401, *READ[1:])
GIT_WRITE = (401, *WRITE[1:])
R = "/repos/{repo}"

MATRIX = {
    f"GET {R}": READ,
    f"PATCH {R}": at("admin", 200),
    f"DELETE {R}": at("owner", 204),
    f"POST {R}/transfer": at("owner", 202),
    f"GET {R}/migration": at("admin", 404),  # it was not migrated
    f"POST {R}/migration": at("admin", 404),
    f"DELETE {R}/migration": at("admin", 404),
    f"POST {R}/mirror-sync": at("write", 400),  # it is no mirror
    f"GET {R}/branches": READ,
    f"GET {R}/branches/master": READ,
    f"GET {R}/raw/README.md": READ,
    f"GET {R}/archive/master.zip": READ,
    f"GET {R}/editorconfig/README.md": at("read", 404),  # there is no .editorconfig
    f"GET {R}/collaborators": WRITE,
    f"GET {R}/collaborators/reader": at("write", 204),
    f"PUT {R}/collaborators/stranger": ADMIN,
    f"DELETE {R}/collaborators/nina": ADMIN,
    f"GET {R}/keys": WRITE,
    f"POST {R}/keys": at("write", 201),
    f"GET {R}/keys/{{key}}": WRITE,
    f"DELETE {R}/keys/{{key}}": ADMIN,
    f"GET {R}/forks": READ,
    f"POST {R}/forks": at("signed-in", 202),
    f"GET {R}/releases": READ,
    f"POST {R}/releases": at("write", 201),
    f"GET {R}/releases/latest": READ,
    f"GET {R}/releases/tags/v1": READ,
    f"GET {R}/releases/{{release}}": READ,
    f"PATCH {R}/releases/{{release}}": WRITE,
    f"DELETE {R}/releases/{{release}}": at("write", 204),
    f"GET {R}/statuses/master": READ,
    f"POST {R}/statuses/master": at("write", 201),
    f"GET {R}/commits/master/statuses": READ,
    f"GET {R}/commits/master/status": READ,
    f"GET {R}/commits/w/one/status": READ,
    f"GET {R}/commits/w/status/one/status": READ,
    f"GET {R}/commits/w/statuses/one/status": READ,
    f"GET {R}/stargazers": READ,
    f"GET {R}/subscribers": READ,
    f"GET {R}/subscription": (*[404] * 7, 200),  # who made it watches it
    f"PUT {R}/subscription": at("signed-in", 200),
    f"DELETE {R}/subscription": at("signed-in", 204),
    "GET /user/starred/{repo}": (401, *[404] * 7),
    "PUT /user/starred/{repo}": (401, *at("read", 204)[1:]),
    "DELETE /user/starred/{repo}": (401, *at("read", 204)[1:]),
    "GET /user/starred": signed_in(200),
    "GET /user/subscriptions": signed_in(200),
    "GET /users/nina/starred": signed_in(200),
    "GET /users/nina/subscriptions": signed_in(200),
    "GET /repositories/{id}": (401, *READ[1:]),
    "GET /repos/search": ANYBODY,
    "POST /repos/migrate": signed_in(422),  # from nowhere
    "GET /user/repos": signed_in(200),
    "POST /user/repos": signed_in(201),
    "GET /users/nina/repos": ANYBODY,
    "GET /orgs/acme/repos": ANYBODY,
    "POST /org/acme/repos": (401, *[403] * 5, 201, 201),
    "POST /orgs/acme/repos": (401, *[403] * 5, 201, 201),
    "POST /admin/users/nina/repos": (*[403] * 7, 201),
    "GET /teams/51/repos": members(200),
    "GET /teams/51/repos/{repo}": members(200),
    "PUT /teams/52/repos/{repo}": (401, 404, 404, 404, 404, 403, 204, 404),
    "DELETE /teams/51/repos/{repo}": (401, 404, 404, 404, 404, 403, 204, 404),
    "GET /gitignore/templates": ANYBODY,
    "GET /gitignore/templates/Go": ANYBODY,
    "GET /licenses": ANYBODY,
    "GET /licenses/MIT": ANYBODY,
    "GET //{repo}.git/info/refs?service=git-upload-pack": GIT_READ,
    "GET //{repo}/info/refs?service=git-receive-pack": GIT_WRITE,
    "POST //{repo}/git-upload-pack": GIT_READ,
    "POST //{repo}/git-receive-pack": GIT_WRITE,
}
"""``METHOD path`` -> what each role gets with a password, in the order of ``ROLES``. ``//`` is not the API."""

KEYS = itertools.count(1)


def ssh_key():
    blob = b"\0\0\0\x0bssh-ed25519\0\0\0 " + next(KEYS).to_bytes(32)
    return base64.b64encode(blob).decode()


def name():
    return f"n{next(KEYS)}"


BODIES = {
    f"PATCH {R}": lambda: {"description": "new"},
    f"POST {R}/transfer": lambda: {"new_owner": "other"},
    f"POST {R}/keys": lambda: {"title": name(), "key": ssh_key()},
    f"POST {R}/releases": lambda: {"tag_name": name()},
    f"PATCH {R}/releases/{{release}}": lambda: {"body": "new"},
    f"POST {R}/statuses/master": lambda: {"state": "success"},
    "POST /user/repos": lambda: {"name": name()},
    "POST /org/acme/repos": lambda: {"name": name()},
    "POST /orgs/acme/repos": lambda: {"name": name()},
    "POST /admin/users/nina/repos": lambda: {"name": name()},
}
SCOPES = {"token": ["all"], "reading": ["read"], "elsewhere": ["read:hook"]}


def shape(path):
    """A path with its parameters blanked."""
    return "/".join("*" if part.startswith("{") else part for part in path.split("?")[0].split("/"))


def public_routes(app):
    """``METHOD path`` -> policy, of everything that is routed from outside."""
    found = {}
    for route in app.routes:
        if route.path.startswith(("/internal/", "/livez", "/readyz", "/metrics")):
            continue
        path = route.path.removeprefix("/api/v1") if route.path.startswith("/api/v1") else "/" + route.path
        for handler in getattr(route, "route_handlers", []):
            for method in handler.http_methods - {"OPTIONS", "HEAD"}:
                found[f"{method} {shape(path)}"] = handler.opt["policy"]
    return found


def matches(pattern, key):
    """Whether a key of the matrix is a call of the route with that shape; what ``/commits/`` ends with may have slashes."""
    (method, path), (wanted, given) = pattern.split(" "), key.split(" ")
    parts = path.split("/")
    segments = given.replace("{repo}", "acme/app").split("?")[0].split("/")
    if "/commits/" in path and parts[-1] == "*":
        segments[len(parts) - 1 :] = ["/".join(segments[len(parts) - 1 :])]
    return (
        method == wanted
        and len(parts) == len(segments)
        and all(part in ("*", segment) for part, segment in zip(parts, segments, strict=True))
    )


def route_of(routes, key):
    """The route that a key of the matrix calls; literal segments come before parameters."""
    fitting = [pattern for pattern in routes if matches(pattern, key)]
    return min(fitting, key=lambda pattern: [part == "*" for part in pattern.split("/")])


class Stage:
    """A private repository acme/app with all its roles, anew after every call that changed something."""

    def __init__(self, world):
        self.world, self.made = world, {}
        for login, id_ in ROLES.items():
            if id_:
                world.identity.add(id_, login, email=f"{login}@example.org")
        world.identity.add(30, "nina")
        world.organization(9, "acme")
        world.organization(8, "other")
        world.identity.team(51, 9, "write")
        world.identity.team(52, 9, "read")
        world.identity.join(24, 9, teams={51: "write"})
        for organization in (8, 9):
            world.identity.join(25, organization, owner=True)

    def person(self, role, **more):
        id_ = ROLES[role]
        principal = Principal(id=id_, name=role, via="basic", admin=role == "site", **more)
        return self.world.person(principal if id_ else Principal())

    async def repository(self):
        """The path of the repository and what is below it, as the placeholders of the matrix."""
        if not self.made:
            root = self.person("site")
            path = f"/api/v1/repos/acme/{name()}"
            body = {"name": path.rsplit("/", 1)[1], "private": True, "auto_init": True}
            made = await root.call("POST", "/api/v1/org/acme/repos", body)
            for role, mode in (("reader", "read"), ("writer", "write"), ("administrator", "admin")):
                await root.call("PUT", f"{path}/collaborators/{role}", {"permission": mode})
            await self.person("owner").call("PUT", f"/api/v1/teams/51/repos/{path[14:]}")
            release = await root.call("POST", f"{path}/releases", {"tag_name": "v1"})
            key = await root.call("POST", f"{path}/keys", {"title": "k", "key": ssh_key()})
            git = self.world.parts.storage.open(made.json()["id"])
            for branch in ("w/one", "w/status/one", "w/statuses/one"):
                git.references.create(f"refs/heads/{branch}", git.head.target)
            self.made = {
                "repo": path.removeprefix("/api/v1/repos/"),
                "id": made.json()["id"],
                "release": release.json()["id"],
                "key": key.json()["id"],
            }
        return self.made

    async def call(self, person, key, **sent):
        method, path = key.split(" ")
        filled = path.format(**await self.repository())
        target = filled[1:] if filled.startswith("//") else f"/api/v1{filled}"
        if target.endswith("-pack"):
            media_type = f"application/x-{target.rsplit('/', 1)[1]}-request"
            sent = {"content": b"0000", "headers": {"content-type": media_type}}
        answer = await person.call(method, target, **sent)
        if answer.is_success and method != "GET":
            self.made = {}
        return answer


@pytest.fixture
async def stage(world):
    return Stage(world)


def test_every_route_is_in_the_matrix(world):
    routes = public_routes(world.app)
    assert set(routes) == {route_of(routes, key) for key in MATRIX}


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("key", MATRIX)
async def test_a_route_answers_each_role_as_the_matrix_says(stage, key):
    answers = {}
    for role in ROLES:
        body = BODIES.get(key, dict)() if not key.startswith("GET") else None
        answers[role] = (await stage.call(stage.person(role), key, body=body)).status_code
    assert answers == dict(zip(ROLES, MATRIX[key], strict=True))


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("key", MATRIX)
async def test_a_token_does_what_its_scopes_say(stage, key):
    policy = public_routes(stage.world.app)[route_of(public_routes(stage.world.app), key)]
    scope = policy.scope or ("write:repository" if "receive" in key else "read:repository")
    by_role = dict(zip(ROLES, MATRIX[key], strict=True))
    answers, wanted = {}, {}
    for role, kind in itertools.product(("stranger", "owner", "site"), SCOPES):
        scopes = [scope.replace("write:", "read:")] if kind == "reading" else SCOPES[kind]
        person = stage.person(role, scopes=scopes)
        body = BODIES.get(key, dict)() if not key.startswith("GET") else None
        answers[role, kind] = (await stage.call(person, key, body=body)).status_code
        wanted[role, kind] = by_role[role] if person.principal.may(scope) else 403
    assert answers == wanted


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("key", [key for key in MATRIX if not key.startswith(("GET", "POST //"))])
async def test_who_is_refused_is_refused_whatever_they_send(stage, key):
    for role, wanted in zip(ROLES, MATRIX[key], strict=True):
        if wanted not in (401, 403, 404):
            continue
        for body in (b"{", b'{"name": 5, "title": [], "new_owner": {}}'):
            sent = {"content": body, "headers": {"content-type": "application/json"}}
            answer = await stage.call(stage.person(role), key, **sent)
            assert (role, answer.status_code) == (role, wanted)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("key", [key for key in MATRIX if "{repo}" in key])
async def test_what_one_may_not_see_answers_as_what_is_not_there(stage, key):
    await stage.repository()
    for role in ("anonymous", "stranger"):
        there = await stage.call(stage.person(role), key, body=BODIES.get(key, dict)())
        made, stage.made = stage.made, stage.made | {"repo": "acme/nothing"}
        absent = await stage.call(stage.person(role), key, body=BODIES.get(key, dict)())
        stage.made = made
        assert (there.status_code, there.content) == (absent.status_code, absent.content)
        assert there.headers.keys() == absent.headers.keys()


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("key", [key for key in MATRIX if "{release}" in key or "{key}" in key])
async def test_a_thing_is_not_found_below_another_repository(stage, key):
    made = await stage.repository()
    stage.made = {}
    other = (await stage.repository())["repo"]
    stage.made = made | {"repo": other}
    answer = await stage.call(stage.person("owner"), key, body=BODIES.get(key, dict)())
    wanted = 204 if key.startswith(f"DELETE {R}/keys") else 404  # an unknown key is no error
    assert answer.status_code == wanted
    stage.made = made
    kept = await stage.call(stage.person("owner"), key.replace("DELETE", "GET").replace("PATCH", "GET"))
    assert kept.status_code == 200
