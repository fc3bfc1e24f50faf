"""Every public route of identity: results of each role with a password, valid bodies, and values in paths."""

import itertools

from pysequoia import Tsk

from ingot_chassis.http.paging import Page
from ingot_identity.registrations import store as registrations
from ingot_identity.registrations.rules import approvals
from ingot_identity.registrations.rules.accounts import Credentials, NewAccount

from .world import PASSWORD

ROLES = ("anonymous", "stranger", "member", "owner", "administrator")
NAMES = {"stranger": "sam", "member": "mia", "owner": "ann", "administrator": "root"}

MATRIX = {
    "GET /admin/users": (403, 403, 403, 403, 200),
    "GET /admin/auths": (403, 403, 403, 403, 200),
    "POST /admin/auths": (403, 403, 403, 403, 201),
    "GET /admin/auths/{source}": (403, 403, 403, 403, 200),
    "PATCH /admin/auths/{source}": (403, 403, 403, 403, 200),
    "DELETE /admin/auths/{source}": (403, 403, 403, 403, 204),
    "GET /admin/auths/{source}/scim_tokens": (403, 403, 403, 403, 200),
    "POST /admin/auths/{source}/scim_tokens": (403, 403, 403, 403, 201),
    "DELETE /admin/auths/{source}/scim_tokens/{scim}": (403, 403, 403, 403, 204),
    "GET /admin/registrations": (403, 403, 403, 403, 200),
    "POST /admin/registrations/{registration}/approval": (403, 403, 403, 403, 204),
    "DELETE /admin/registrations/{registration}": (403, 403, 403, 403, 204),
    "GET /admin/orgs": (403, 403, 403, 403, 200),
    "GET /admin/emails": (403, 403, 403, 403, 200),
    "GET /admin/emails/search": (403, 403, 403, 403, 200),
    "POST /admin/users": (403, 403, 403, 403, 201),
    "PATCH /admin/users/{user}": (403, 403, 403, 403, 200),
    "DELETE /admin/users/{user}": (403, 403, 403, 403, 204),
    "GET /admin/users/{user}/purge": (403, 403, 403, 403, 404),
    "GET /admin/users/{user}/badges": (403, 403, 403, 403, 200),
    "POST /admin/users/{user}/badges": (403, 403, 403, 403, 204),
    "DELETE /admin/users/{user}/badges": (403, 403, 403, 403, 204),
    "POST /admin/users/{user}/rename": (403, 403, 403, 403, 204),
    "POST /admin/users/{user}/orgs": (403, 403, 403, 403, 201),
    "POST /admin/users/{user}/keys": (403, 403, 403, 403, 201),
    "DELETE /admin/users/{user}/keys/{key}": (403, 403, 403, 403, 204),
    "DELETE /admin/users/{user}/two_factor": (403, 403, 403, 403, 404),
    "GET /user": (401, 200, 200, 200, 200),
    "GET /user/settings": (401, 200, 200, 200, 200),
    "PATCH /user/settings": (401, 200, 200, 200, 200),
    "POST /user/avatar": (401, 204, 204, 204, 204),
    "DELETE /user/avatar": (401, 204, 204, 204, 204),
    "GET /user/blocks": (401, 200, 200, 200, 200),
    "GET /user/blocks/{user}": (401, 404, 404, 404, 404),
    "PUT /user/blocks/{user}": (401, 204, 204, 204, 204),
    "DELETE /user/blocks/{user}": (401, 204, 204, 204, 204),
    "GET /user/teams": (401, 200, 200, 200, 200),
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
    "GET /user/keys/{key}": (401, 404, 404, 404, 404),
    "DELETE /user/keys/{key}": (401, 403, 403, 403, 204),
    "GET /user/gpg_key_token": (401, 200, 200, 200, 200),
    "POST /user/gpg_key_verify": (401, 404, 404, 404, 404),
    "GET /user/gpg_keys": (401, 200, 200, 200, 200),
    "POST /user/gpg_keys": (401, 201, 201, 201, 201),
    "GET /user/gpg_keys/{pgp}": (401, 200, 200, 200, 200),
    "DELETE /user/gpg_keys/{pgp}": (401, 403, 403, 403, 204),
    "GET /user/actions/variables": (401, 200, 200, 200, 200),
    "GET /user/actions/variables/{variable}": (401, 200, 200, 200, 200),
    "POST /user/actions/variables/{fresh}": (401, 201, 201, 201, 201),
    "PUT /user/actions/variables/{variable}": (401, 204, 204, 204, 204),
    "DELETE /user/actions/variables/{variable}": (401, 204, 204, 204, 204),
    "GET /user/applications/oauth2": (401, 200, 200, 200, 200),
    "POST /user/applications/oauth2": (401, 201, 201, 201, 201),
    "GET /user/applications/oauth2/{application}": (401, 200, 200, 200, 200),
    "PATCH /user/applications/oauth2/{application}": (401, 200, 200, 200, 200),
    "DELETE /user/applications/oauth2/{application}": (401, 204, 204, 204, 204),
    "GET /user/oauth2_grants": (401, 200, 200, 200, 200),
    "DELETE /user/oauth2_grants/{application}": (401, 404, 404, 404, 404),
    "GET /user/external_accounts": (401, 200, 200, 200, 200),
    "DELETE /user/external_accounts/{source}": (401, 404, 404, 404, 404),
    "GET /user/sessions": (401, 200, 200, 200, 200),
    "GET /user/sessions/{session}/provider": (401, 404, 404, 404, 404),
    "DELETE /user/sessions/{session}": (401, 204, 204, 204, 204),
    "GET /user/proof": (401, 200, 200, 200, 200),
    "POST /user/proof": (401, 204, 204, 204, 204),
    "GET /user/two_factor": (401, 200, 200, 200, 200),
    "POST /user/two_factor": (401, 201, 201, 201, 201),
    "POST /user/two_factor/confirm": (401, 422, 422, 422, 422),
    "POST /user/two_factor/recovery_codes": (401, 404, 404, 404, 404),
    "DELETE /user/two_factor": (401, 404, 404, 404, 404),
    "POST /user/password": (401, 422, 422, 422, 422),
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
    "GET /users/{mia}/orgs/{org}/permissions": (401, 403, 200, 200, 200),
    "GET /token": (401, 401, 401, 401, 401),
    "DELETE /token": (401, 401, 401, 401, 401),
    "GET /orgs": (200, 200, 200, 200, 200),
    "POST /orgs": (401, 201, 201, 201, 201),
    "GET /orgs/{org}": (200, 200, 200, 200, 200),
    "PATCH /orgs/{org}": (401, 403, 403, 200, 200),
    "POST /orgs/{org}/rename": (401, 403, 403, 204, 204),
    "DELETE /orgs/{org}": (401, 403, 403, 204, 204),
    "POST /orgs/{org}/avatar": (401, 403, 403, 204, 204),
    "DELETE /orgs/{org}/avatar": (401, 403, 403, 204, 204),
    "GET /orgs/{org}/actions/variables": (401, 403, 403, 200, 200),
    "GET /orgs/{org}/actions/variables/{variable}": (401, 403, 403, 200, 200),
    "POST /orgs/{org}/actions/variables/{fresh}": (401, 403, 403, 201, 201),
    "PUT /orgs/{org}/actions/variables/{variable}": (401, 403, 403, 204, 204),
    "DELETE /orgs/{org}/actions/variables/{variable}": (401, 403, 403, 204, 204),
    "GET /orgs/{org}/blocks": (401, 403, 403, 200, 200),
    "GET /orgs/{org}/blocks/{user}": (401, 403, 403, 404, 404),
    "PUT /orgs/{org}/blocks/{user}": (401, 403, 403, 204, 204),
    "DELETE /orgs/{org}/blocks/{user}": (401, 403, 403, 204, 204),
    "GET /orgs/{org}/members": (200, 200, 200, 200, 200),
    "GET /orgs/{org}/members/{mia}": (404, 404, 204, 204, 204),
    "DELETE /orgs/{org}/members/{mia}": (401, 403, 403, 204, 204),
    "GET /orgs/{org}/public_members": (200, 200, 200, 200, 200),
    "GET /orgs/{org}/public_members/{public}": (204, 204, 204, 204, 204),
    "PUT /orgs/{org}/public_members/{mia}": (401, 403, 204, 403, 403),
    "DELETE /orgs/{org}/public_members/{mia}": (401, 403, 204, 403, 403),
    "GET /orgs/{org}/teams": (401, 403, 200, 200, 200),
    "GET /orgs/{org}/teams/search": (401, 403, 200, 200, 200),
    "POST /orgs/{org}/teams": (401, 403, 403, 201, 201),
    "POST /orgs/{org}/teams/{team}/members": (401, 404, 404, 201, 201),
    "GET /orgs/{org}/teams/{team}/invitations": (401, 404, 404, 200, 200),
    "DELETE /orgs/{org}/teams/{team}/invitations/{invitation}": (401, 404, 404, 204, 204),
    "GET /teams/{team}": (401, 404, 200, 200, 200),
    "PATCH /teams/{team}": (401, 404, 404, 200, 200),
    "DELETE /teams/{team}": (401, 404, 404, 204, 204),
    "GET /teams/{team}/members": (401, 404, 200, 200, 200),
    "GET /teams/{team}/members/{mia}": (401, 404, 200, 200, 200),
    "PUT /teams/{team}/members/{user}": (401, 404, 404, 204, 204),
    "DELETE /teams/{team}/members/{mia}": (401, 404, 404, 204, 204),
}
"""Expected statuses with a password. ``/token`` takes only tokens. Only successful calls change objects."""

GIF = "R0lGODlhAQABAAAAACw="

BODIES = {
    "POST /user/avatar": lambda _n, _who: {"image": GIF},
    "POST /orgs/{org}/avatar": lambda _n, _who: {"image": GIF},
    "POST /admin/auths": lambda n, _who: source(n),
    "POST /admin/auths/{source}/scim_tokens": lambda _n, _who: {"name": "t"},
    "POST /admin/users": lambda n, _who: {"username": f"n{n}", "email": f"n{n}@x.io", "password": PASSWORD},
    "POST /admin/users/{user}/badges": lambda _n, _who: {"badge_slugs": ["mentor"]},
    "DELETE /admin/users/{user}/badges": lambda _n, _who: {"badge_slugs": ["mentor"]},
    "POST /admin/users/{user}/rename": lambda n, _who: {"new_username": f"n{n}"},
    "POST /admin/users/{user}/orgs": lambda n, _who: {"username": f"n{n}"},
    "POST /admin/users/{user}/keys": lambda n, _who: {"title": "k", "key": ssh_key(n)},
    "POST /user/proof": lambda _n, _who: {"password": PASSWORD},
    "POST /user/two_factor/confirm": lambda _n, _who: {"code": "no code"},
    "POST /user/emails": lambda n, _who: {"emails": [f"n{n}@x.io"]},
    "PATCH /user/emails": lambda _n, who: {"email": address(who)},
    "POST /user/keys": lambda n, _who: {"title": f"k{n}", "key": ssh_key(n)},
    "POST /user/gpg_key_verify": lambda _n, _who: {"key_id": "0" * 16, "armored_signature": "x"},
    "POST /user/gpg_keys": lambda _n, who: {"armored_public_key": pgp_key(who)},
    "POST /user/actions/variables/{fresh}": lambda _n, _who: {"value": "v"},
    "PUT /user/actions/variables/{variable}": lambda _n, _who: {"value": "v"},
    "POST /orgs/{org}/actions/variables/{fresh}": lambda _n, _who: {"value": "v"},
    "PUT /orgs/{org}/actions/variables/{variable}": lambda _n, _who: {"value": "v"},
    "POST /user/applications/oauth2": lambda n, _who: application(n),
    "POST /users/{self}/tokens": lambda _n, _who: {"name": "t"},
    "POST /orgs": lambda n, _who: {"username": f"n{n}"},
    "POST /orgs/{org}/rename": lambda n, _who: {"new_name": f"n{n}"},
    "POST /orgs/{org}/teams": lambda n, _who: {"name": f"n{n}"},
    "POST /orgs/{org}/teams/{team}/members": lambda n, _who: {"email": f"n{n}@x.io"},
}


def source(n):
    config = {"kind": "oidc", "issuer": "https://id.example.org", "client_id": "ingot"}
    return {"name": f"n{n}", "config": config}


def application(n):
    return {"name": f"n{n}", "redirect_uris": ["https://x.io/"]}


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
    policies = {}
    for route in app.routes:
        for handler in getattr(route, "route_handlers", []):
            if route.path.startswith("/api/v1/"):
                for method in handler.http_methods - {"OPTIONS", "HEAD"}:
                    policies[f"{method} {shape(route.path.removeprefix('/api/v1'))}"] = handler.opt["policy"]
    return policies


class Things:
    """Values of placeholders, created on first use, and again after a call has changed them."""

    def __init__(self, world):
        self._identity, self._names, self.numbers = world, {}, itertools.count(1)

    def forget(self):
        self._names.clear()

    async def filled(self, path, caller):
        self._names["self"], self._names["mia"] = caller, "mia"
        if "{token}" in path:
            answer = await self._identity.call("POST", f"/users/{caller}/tokens", {"name": "t"}, as_=caller)
            self._names["token"] = answer.json()["id"]
        if "{session}" in path:
            self._names["session"] = await self._identity.start_session(caller)
        if "{application}" in path:
            body, own = application(next(self.numbers)), "/user/applications/oauth2"
            answer = await self._identity.call("POST", own, body, as_=caller)
            self._names["application"] = answer.json()["id"]
        if "{source}" in path:
            body = source(next(self.numbers))
            answer = await self._identity.call("POST", "/admin/auths", body, as_="root")
            self._names["source"] = answer.json()["id"]
        if "{registration}" in path:
            self._names["registration"] = await self._registration(f"x{next(self.numbers)}")
        if "{scim}" in path:
            tokens = path.partition("/{scim}")[0].format(**self._names)
            answer = await self._identity.call("POST", tokens, {"name": "t"}, as_="root")
            self._names["scim"] = answer.json()["id"]
        for name in ("user", "key", "pgp", "org", "team", "public"):
            if "{" + name + "}" in path and name not in self._names:
                await getattr(self, f"_{name}")(f"x{next(self.numbers)}")
        if "{invitation}" in path:
            members = f"/orgs/{self._names['org']}/teams/{self._names['team']}/members"
            body = {"email": f"n{next(self.numbers)}@x.io"}
            answer = await self._identity.call("POST", members, body, as_="ann")
            self._names["invitation"] = answer.json()["id"]
        self._names["fresh"] = f"v{next(self.numbers)}"
        if "{variable}" in path:
            self._names["variable"] = f"v{next(self.numbers)}"
            target, maker = path.format(**self._names), "ann" if "{org}" in path else caller
            await self._identity.call("POST", target, {"value": "v"}, as_=maker)
        return path.format(**self._names)

    async def _registration(self, name):
        new = NewAccount(name, f"{name}@x.io", Credentials("", None), confirmed=False)
        async with self._identity.database.transaction() as tx:
            await approvals.add(tx, new, "")
            rows, _ = await registrations.list_page(tx, Page(1, 50))
        return rows[-1].id

    async def _user(self, name):
        await self._identity.add_user(name)
        self._names["user"] = name

    async def _key(self, name):
        if "user" not in self._names:
            await self._user(name)
        user, body = self._names["user"], {"title": name, "key": ssh_key(1000 + next(self.numbers))}
        answer = await self._identity.call("POST", f"/admin/users/{user}/keys", body, as_="root")
        self._names["key"] = answer.json()["id"]

    async def _pgp(self, name):
        await self._user(name)
        body = {"armored_public_key": pgp_key(name)}
        answer = await self._identity.call("POST", "/user/gpg_keys", body, as_=name)
        self._names["pgp"] = answer.json()["id"]

    async def _org(self, name):
        await self._identity.call("POST", "/orgs", {"username": name}, as_="ann")
        body = {"name": "devs"}
        team = (await self._identity.call("POST", f"/orgs/{name}/teams", body, as_="ann")).json()["id"]
        await self._identity.call("PUT", f"/teams/{team}/members/mia", as_="ann")
        self._names |= {"org": name, "team": team}

    async def _team(self, name):
        if "org" not in self._names:
            await self._org(name)

    async def _public(self, name):
        if "team" not in self._names:
            await self._org(name)
        await self._user(name)
        await self._identity.call("PUT", f"/teams/{self._names['team']}/members/{name}", as_="ann")
        await self._identity.call("PUT", f"/orgs/{self._names['org']}/public_members/{name}", as_=name)
        self._names["public"] = name
