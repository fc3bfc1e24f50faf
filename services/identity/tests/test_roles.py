"""Who may call what: every public route, by role and by kind of credential."""

import itertools

import pytest
from identity_world import SECRET
from pysequoia import Tsk

from ingot_chassis.principal import Principal
from ingot_identity.core import tokens
from ingot_identity.store import accounts

ROLES = ("anonymous", "stranger", "member", "owner", "administrator")
NAMES = {"stranger": "sam", "member": "mia", "owner": "ann", "administrator": "root"}

MATRIX = {
    "POST /admin/users": (403, 403, 403, 403, 201),
    "PATCH /admin/users/{user}": (403, 403, 403, 403, 200),
    "DELETE /admin/users/{user}": (403, 403, 403, 403, 204),
    "POST /admin/users/{user}/rename": (403, 403, 403, 403, 204),
    "POST /admin/users/{user}/orgs": (403, 403, 403, 403, 201),
    "POST /admin/users/{user}/keys": (403, 403, 403, 403, 201),
    "DELETE /admin/users/{user}/keys/{key}": (403, 403, 403, 403, 204),
    "GET /user": (401, 200, 200, 200, 200),
    "GET /user/settings": (401, 200, 200, 200, 200),
    "PATCH /user/settings": (401, 200, 200, 200, 200),
    "GET /user/emails": (401, 200, 200, 200, 200),
    "POST /user/emails": (401, 201, 201, 201, 201),
    "PATCH /user/emails": (401, 200, 200, 200, 200),
    "DELETE /user/emails": (401, 204, 204, 204, 204),
    "GET /user/followers": (401, 200, 200, 200, 200),
    "GET /user/following": (401, 200, 200, 200, 200),
    "GET /user/following/{user}": (401, 404, 404, 404, 404),
    "PUT /user/following/{user}": (401, 204, 204, 204, 204),
    "DELETE /user/following/{user}": (401, 204, 204, 204, 204),
    "GET /user/keys": (401, 200, 200, 200, 200),
    "POST /user/keys": (401, 201, 201, 201, 201),
    "GET /user/keys/{key}": (401, 200, 200, 200, 200),
    "DELETE /user/keys/{key}": (401, 403, 403, 403, 204),
    "GET /user/gpg_keys": (401, 200, 200, 200, 200),
    "POST /user/gpg_keys": (401, 201, 201, 201, 201),
    "GET /user/gpg_keys/{pgp}": (401, 200, 200, 200, 200),
    "DELETE /user/gpg_keys/{pgp}": (401, 403, 403, 403, 204),
    "GET /user/orgs": (401, 200, 200, 200, 200),
    "GET /user/{user}/orgs": (200, 200, 200, 200, 200),
    "GET /users/search": (200, 200, 200, 200, 200),
    "GET /users/{user}": (200, 200, 200, 200, 200),
    "GET /users/{user}/orgs": (200, 200, 200, 200, 200),
    "GET /users/{user}/keys": (401, 200, 200, 200, 200),
    "GET /users/{user}/gpg_keys": (401, 200, 200, 200, 200),
    "GET /users/{user}/followers": (401, 200, 200, 200, 200),
    "GET /users/{user}/following": (401, 200, 200, 200, 200),
    "GET /users/{user}/following/{user}": (401, 404, 404, 404, 404),
    "GET /users/{self}/tokens": (401, 200, 200, 200, 200),
    "POST /users/{self}/tokens": (401, 201, 201, 201, 201),
    "DELETE /users/{self}/tokens/{token}": (401, 204, 204, 204, 204),
    "POST /orgs": (401, 201, 201, 201, 201),
    "GET /orgs/{org}": (200, 200, 200, 200, 200),
    "PATCH /orgs/{org}": (401, 403, 403, 200, 403),
    "DELETE /orgs/{org}": (401, 403, 403, 204, 403),
    "GET /orgs/{org}/members": (200, 200, 200, 200, 200),
    "GET /orgs/{org}/members/{mia}": (404, 404, 204, 204, 204),
    "DELETE /orgs/{org}/members/{mia}": (401, 403, 403, 204, 403),
    "GET /orgs/{org}/public_members": (200, 200, 200, 200, 200),
    "GET /orgs/{org}/public_members/{public}": (204, 204, 204, 204, 204),
    "PUT /orgs/{org}/public_members/{mia}": (401, 403, 204, 403, 403),
    "DELETE /orgs/{org}/public_members/{mia}": (401, 403, 204, 403, 403),
    "GET /orgs/{org}/teams": (401, 403, 200, 200, 403),
    "POST /orgs/{org}/teams": (401, 403, 403, 201, 403),
    "GET /teams/{team}": (401, 404, 200, 200, 404),
    "PATCH /teams/{team}": (401, 404, 404, 200, 404),
    "DELETE /teams/{team}": (401, 404, 404, 204, 404),
    "GET /teams/{team}/members": (401, 404, 200, 200, 404),
    "PUT /teams/{team}/members/{user}": (401, 404, 404, 204, 404),
    "DELETE /teams/{team}/members/{mia}": (401, 404, 404, 204, 404),
}
"""What a password gets. Placeholders are things that stay what they are until a call succeeds."""

BODIES = {
    "POST /admin/users": lambda n, _who: {"username": f"n{n}", "email": f"n{n}@x.io", "password": SECRET},
    "POST /admin/users/{user}/rename": lambda n, _who: {"new_username": f"n{n}"},
    "POST /admin/users/{user}/orgs": lambda n, _who: {"username": f"n{n}"},
    "POST /admin/users/{user}/keys": lambda n, _who: {"title": "k", "key": ssh_key(n)},
    "POST /user/emails": lambda n, _who: {"emails": [f"n{n}@x.io"]},
    "PATCH /user/emails": lambda _n, who: {"email": address(who)},
    "POST /user/keys": lambda n, _who: {"title": f"k{n}", "key": ssh_key(n)},
    "POST /user/gpg_keys": lambda _n, who: {"armored_public_key": pgp_key(who)},
    "POST /users/{self}/tokens": lambda _n, _who: {"name": "t"},
    "POST /orgs": lambda n, _who: {"username": f"n{n}"},
    "POST /orgs/{org}/teams": lambda n, _who: {"name": f"n{n}"},
}

KINDS = ("basic", "token", "narrow", "reading", "elsewhere", "sudo", "restricted")
"""``narrow`` is a token with the scope of the route alone, ``reading`` one with its reading scope, ``elsewhere`` one
with another, ``restricted`` one that is restricted to a repository."""


def ssh_key(n):
    import base64

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    raw = Ed25519PrivateKey.from_private_bytes(n.to_bytes(32)).public_key().public_bytes_raw()
    return base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0 " + raw).decode()


def address(who):
    return "root@localhost.localdomain" if who == "root" else f"{who}@example.com"


def pgp_key(who):
    return str(Tsk.generate(f"X <{address(who)}>").extract_certificate())


def shape(path):
    """A path with its parameters blanked."""
    return "/".join("*" if part.startswith("{") else part for part in path.split("/"))


def public_routes(app):
    """``METHOD path`` -> policy, of everything that is routed from outside."""
    found = {}
    for route in app.routes:
        for handler in getattr(route, "route_handlers", []):
            if route.path.startswith("/api/v1/"):
                for method in handler.http_methods - {"OPTIONS", "HEAD"}:
                    found[f"{method} {shape(route.path.removeprefix('/api/v1'))}"] = handler.opt["policy"]
    return found


class Things:
    """What the placeholders stand for; made when first needed, and anew once a call has changed them."""

    def __init__(self, identity):
        self._identity, self._made, self.numbers = identity, {}, itertools.count(1)

    def forget(self):
        self._made.clear()

    async def filled(self, path, caller):
        self._made["self"], self._made["mia"] = caller, "mia"
        if "{token}" in path:
            made = await self._identity.call("POST", f"/users/{caller}/tokens", {"name": "t"}, as_=caller)
            self._made["token"] = made.json()["id"]
        for name in ("user", "key", "pgp", "org", "team", "public"):
            if "{" + name + "}" in path and name not in self._made:
                await getattr(self, f"_{name}")(f"x{next(self.numbers)}")
        return path.format(**self._made)

    async def _user(self, name):
        await self._identity.add_user(name)
        self._made["user"] = name

    async def _key(self, name):
        if "user" not in self._made:
            await self._user(name)
        user, body = self._made["user"], {"title": name, "key": ssh_key(1000 + next(self.numbers))}
        made = await self._identity.call("POST", f"/admin/users/{user}/keys", body, as_="root")
        self._made["key"] = made.json()["id"]

    async def _pgp(self, name):
        await self._user(name)
        body = {"armored_public_key": pgp_key(name)}
        made = await self._identity.call("POST", "/user/gpg_keys", body, as_=name)
        self._made["pgp"] = made.json()["id"]

    async def _org(self, name):
        await self._identity.call("POST", "/orgs", {"username": name}, as_="ann")
        body = {"name": "devs"}
        team = (await self._identity.call("POST", f"/orgs/{name}/teams", body, as_="ann")).json()["id"]
        await self._identity.call("PUT", f"/teams/{team}/members/mia", as_="ann")
        self._made |= {"org": name, "team": team}

    async def _team(self, name):
        if "org" not in self._made:
            await self._org(name)

    async def _public(self, name):
        if "team" not in self._made:
            await self._org(name)
        await self._user(name)
        await self._identity.call("PUT", f"/teams/{self._made['team']}/members/{name}", as_="ann")
        await self._identity.call("PUT", f"/orgs/{self._made['org']}/public_members/{name}", as_=name)
        self._made["public"] = name


def scopes_of(kind, policy):
    """Those of a token of that kind for a route with that policy."""
    return {
        "narrow": [policy.scope or "write:misc"],
        "reading": [policy.scope.replace("write:", "read:") or "read:misc"],
        "elsewhere": ["write:misc"],
    }.get(kind, ["all"])


async def statement(identity, name, kind, policy):
    """What identity hands out for a credential of that kind; for ``sudo`` root is who acts as ``name``."""
    if kind == "basic":
        credential = {"name": name, "password": SECRET}
    elif kind == "sudo":
        credential = {"name": "root", "password": SECRET, "sudo": name}
    else:
        confined_to = [7] if kind == "restricted" else []
        async with identity.app.state.database.transaction() as tx:
            row = await accounts.get_by_login(tx, name)
            made = await tokens.create(tx, row.id, "t", scopes_of(kind, policy), None, confined_to)
        credential = {"token": made[1]}
    return (await identity.authenticate(**credential)).json()["statement"]


def expected(policy, kind, by_password, method, *, anonymous, own):
    """What a credential of that kind gets where a password gets ``by_password``."""
    if kind in ("basic", "sudo"):
        return by_password
    if policy.caller == "admin" and by_password == 403:
        return 403
    if policy.caller == "basic":
        return 401
    if kind == "restricted" and policy.caller == "anyone":
        return anonymous
    if kind == "restricted":
        return by_password if own and method == "GET" else 403
    too_narrow = kind == "elsewhere" or (kind == "reading" and method != "GET")
    return 403 if policy.scope and too_narrow else by_password


async def test_every_route_is_in_the_matrix(identity):
    listed = {f"{method} {shape(path)}" for method, path in (key.split(" ") for key in MATRIX)}
    assert set(public_routes(identity.app)) == listed


@pytest.mark.parametrize("route", MATRIX)
async def test_a_route_answers_each_role_as_the_matrix_says(identity, route):
    method, path = route.split(" ")
    policy = public_routes(identity.app)[f"{method} {shape(path)}"]
    for name in ("sam", "mia", "ann"):
        await identity.add_user(name)
    things, answers, wanted = Things(identity), {}, {}

    async def attempt(role, kind, headers):
        caller = NAMES.get(role, "sam")
        body = (
            BODIES.get(route, lambda _n, _who: {})(next(things.numbers), caller) if method != "GET" else None
        )
        target = f"/api/v1{await things.filled(path, caller)}"
        answer = await identity.http.request(method, target, json=body, headers=headers)
        answers[role, kind] = answer.status_code
        if answer.is_success and method != "GET":
            things.forget()

    by_role = dict(zip(ROLES, MATRIX[route], strict=True))
    await attempt("anonymous", "", {})
    wanted["anonymous", ""] = by_role["anonymous"]
    for role, kind in itertools.product(ROLES[1:], KINDS):
        headers = {"ingot-principal": await statement(identity, NAMES[role], kind, policy)}
        await attempt(role, kind, headers)
        ordinary = role == "administrator" and not {"all", "write:admin"} & set(scopes_of(kind, policy))
        wanted[role, kind] = expected(
            policy,
            kind,
            by_role["stranger" if ordinary else role],
            method,
            anonymous=by_role["anonymous"],
            own=path == "/user" or path.startswith("/user/"),
        )
    assert answers == wanted


@pytest.mark.parametrize("body", ["[5]", "{", '{"name": {}, "username": 5, "description": []}'])
async def test_who_is_refused_hears_that_before_anything_about_the_body(identity, body):
    ids = {name: await identity.add_user(name) for name in ("sam", "mia", "ann")} | {"root": 1}
    things, answers, wanted = Things(identity), {}, {}
    for route, statuses in MATRIX.items():
        method, path = route.split(" ")
        for role, status in zip(ROLES, statuses, strict=True):
            if method == "GET" or status not in (401, 403, 404):
                continue
            name = NAMES.get(role, "")
            principal = Principal(id=ids.get(name, 0), name=name, admin=role == "administrator", via="basic")
            headers = {"ingot-principal": await identity.statement_of(principal)} if name else {}
            headers["content-type"] = "application/json"
            target = f"/api/v1{await things.filled(path, name or 'sam')}"
            answer = await identity.http.request(method, target, content=body, headers=headers)
            answers[route, role], wanted[route, role] = answer.status_code, status
    assert answers == wanted


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_the_tokens_of_another_are_not_there_whatever_the_body(identity, method):
    for name in ("ann", "bob"):
        await identity.add_user(name)
    for other in ("bob", "nobody"):
        answer = await identity.call_raw(method, f"/users/{other}/tokens", "[5]", as_="ann")
        assert answer.status_code == 404
