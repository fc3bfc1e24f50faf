"""Every public route of identity: what each role gets with a password, good bodies, and what the placeholders stand for."""

import itertools

from identity_world import SECRET
from pysequoia import Tsk

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
