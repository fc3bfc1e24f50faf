"""``FakeIdentity``, for tests of other services, behaves like the internal API: one table of cases."""

import base64
from urllib.parse import quote

import httpx
import pytest

from ingot_chassis.security import ssh_keys
from ingot_chassis.security.principal import ANONYMOUS
from ingot_contracts.identity.credentials import SignatureKey
from ingot_contracts.identity.teams import OWNERS
from ingot_contracts.identity.units import UNITS, write_levels
from ingot_contracts.testing.identity import FakeIdentity

from .keys.test_ssh import wire
from .world import REPOS

KEY = ssh_keys.read(f"ssh-ed25519 {base64.b64encode(wire(b'ssh-ed25519', bytes(32))).decode()}")
CASES = {
    "jwks": ("GET", "/internal/jwks", None),
    "user by id": ("GET", "/internal/accounts/{ann}", None),
    "organization by id": ("GET", "/internal/accounts/{acme}", None),
    "nobody by id": ("GET", "/internal/accounts/999", None),
    "id 0": ("GET", "/internal/accounts/0", None),
    "id that is too large": ("GET", "/internal/accounts/9223372036854775808", None),
    "id that is no number": ("GET", "/internal/accounts/ann", None),
    "user by name": ("GET", "/internal/accounts/by-name/ann", None),
    "user by name in another case": ("GET", "/internal/accounts/by-name/ANN", None),
    "organization by name": ("GET", "/internal/accounts/by-name/acme", None),
    "nobody by name": ("GET", "/internal/accounts/by-name/nobody", None),
    "user by a name, former or not": ("GET", "/internal/accounts/by-name/ann?former=true", None),
    "user by a former name": ("GET", "/internal/accounts/by-name/robert?former=true", None),
    "nobody by a former name": ("GET", "/internal/accounts/by-name/robert", None),
    "name with a slash": ("GET", "/internal/accounts/by-name/a%2Fb", None),
    "memberships": ("GET", "/internal/accounts/{ann}/organizations", None),
    "administrators": ("GET", "/internal/administrators", None),
    "owner of an SSH key": ("GET", f"/internal/ssh-keys?fingerprint={quote(KEY.fingerprint)}", None),
    "owner of a key that nobody has": ("GET", "/internal/ssh-keys?fingerprint=SHA256%3Axyz", None),
    "principal of a credential": ("POST", "/internal/principals", {"id": "ann", "credential": "token:1"}),
    "principal of somebody else's credential": (
        "POST",
        "/internal/principals",
        {"id": "bob", "credential": "token:1"},
    ),
    "principal of a credential that ended": (
        "POST",
        "/internal/principals",
        {"id": "ann", "credential": "token:9"},
    ),
    "principal of no credential": ("POST", "/internal/principals", {"id": "ann", "credential": ""}),
    "principal of nothing": ("POST", "/internal/principals", {"id": "ann"}),
    "signature keys": (
        "POST",
        "/internal/signature-keys",
        {"fingerprints": [KEY.fingerprint, "SHA256:xyz"], "key_ids": ["0000000000000000"]},
    ),
    "signature keys by a wrong type": ("POST", "/internal/signature-keys", {"fingerprints": 5}),
    "public memberships": ("GET", "/internal/accounts/{ann}/organizations?public=true", None),
    "all memberships by name": ("GET", "/internal/accounts/{ann}/organizations?public=false", None),
    "memberships with everything": ("GET", "/internal/accounts/{zoe}/organizations", None),
    "memberships of a stranger": ("GET", "/internal/accounts/{bob}/organizations", None),
    "memberships of nobody": ("GET", "/internal/accounts/999/organizations", None),
    "memberships of id 0": ("GET", "/internal/accounts/0/organizations", None),
    "team": ("GET", "/internal/teams/{team}", None),
    "teams by a name in another case": ("GET", "/internal/organizations/{acme}/teams?name=OWNERS", None),
    "teams by a name that none has": ("GET", "/internal/organizations/{acme}/teams?name=nobody", None),
    "teams by ids": ("GET", "/internal/organizations/{acme}/teams?ids={ops}&ids={team}&ids=999", None),
    "teams by one id": ("GET", "/internal/organizations/{acme}/teams?ids={ops}", None),
    "teams by name and id": ("GET", "/internal/organizations/{acme}/teams?name=Owners&ids={ops}", None),
    "teams with everything": ("GET", "/internal/organizations/{acme}/teams?everywhere=true", None),
    "teams with everything, and by id": (
        "GET",
        "/internal/organizations/{acme}/teams?everywhere=true&name=&ids={ops}",
        None,
    ),
    "teams of another organization": ("GET", "/internal/organizations/{hidden}/teams?ids={ops}", None),
    "teams that nothing asks for": ("GET", "/internal/organizations/{acme}/teams", None),
    "teams of nobody": ("GET", "/internal/organizations/999/teams?name=Owners", None),
    "teams of id 0": ("GET", "/internal/organizations/0/teams?name=Owners", None),
    "an organization for an archive": ("GET", "/internal/organizations/{acme}/export", None),
    "a user for an archive": ("GET", "/internal/organizations/{ann}/export", None),
    "nobody for an archive": ("GET", "/internal/organizations/999/export", None),
    "members of a team": ("GET", "/internal/organizations/{acme}/team-members?ids={ops}", None),
    "members who write": ("GET", "/internal/organizations/{acme}/team-members?ids={ops}&write=true", None),
    "members who write code": (
        "GET",
        "/internal/organizations/{acme}/team-members?ids={ops}&write=true&unit=code",
        None,
    ),
    "members who read issues or pull requests": (
        "GET",
        "/internal/organizations/{acme}/team-members?ids={ops}&unit=issues&unit=pulls",
        None,
    ),
    "owners": ("GET", "/internal/organizations/{acme}/team-members", None),
    "members of teams of nobody": ("GET", "/internal/organizations/999/team-members?ids={ops}", None),
    "a new organization": (
        "POST",
        "/internal/organizations",
        {"login": "fresh", "owner_id": "ann", "visibility": "limited"},
    ),
    "a new organization without a visibility": (
        "POST",
        "/internal/organizations",
        {"login": "fresh", "owner_id": "ann"},
    ),
    "a new organization with a name that is taken": (
        "POST",
        "/internal/organizations",
        {"login": "ACME", "owner_id": "ann", "visibility": "public"},
    ),
    "a new organization without a name": (
        "POST",
        "/internal/organizations",
        {"owner_id": "ann", "visibility": "public"},
    ),
    "a team of an import": (
        "POST",
        "/internal/organizations/{acme}/imported-teams",
        {
            "import_id": 1,
            "source_id": 5,
            "name": "crew",
            "units_map": {"repo.code": "read"},
            "members": ["zoe"],
        },
    ),
    "a team of an import with the name of another one": (
        "POST",
        "/internal/organizations/{acme}/imported-teams",
        {"import_id": 1, "source_id": 6, "name": "OPS"},
    ),
    "a team of an import with a name that none may have": (
        "POST",
        "/internal/organizations/{acme}/imported-teams",
        {"import_id": 1, "source_id": 7, "name": "the crew"},
    ),
    "owners of an organization that was there before its import": (
        "POST",
        "/internal/organizations/{acme}/imported-teams",
        {"import_id": 1, "source_id": 8, "name": "Owners", "permission": "owner"},
    ),
    "a team of an import into a user": (
        "POST",
        "/internal/organizations/{ann}/imported-teams",
        {"import_id": 1, "source_id": 5, "name": "crew"},
    ),
    "a team of an import without a name": (
        "POST",
        "/internal/organizations/{acme}/imported-teams",
        {"import_id": 1, "source_id": 5},
    ),
    "members among users": (
        "POST",
        "/internal/organizations/{acme}/members",
        {"ids": ["ann", "bob", "zoe", "root"]},
    ),
    "members of two teams among users": (
        "POST",
        "/internal/organizations/{acme}/members",
        {"ids": ["ann", "bob", "zoe"], "team_ids": ["ops", "whole", "hidden_team"]},
    ),
    "members of a team of another organization": (
        "POST",
        "/internal/organizations/{acme}/members",
        {"ids": ["ann"], "team_ids": ["hidden_team"]},
    ),
    "members of no teams": (
        "POST",
        "/internal/organizations/{acme}/members",
        {"ids": ["ann"], "team_ids": []},
    ),
    "members among users of nobody": ("POST", "/internal/organizations/999/members", {"ids": ["ann"]}),
    "members among nothing": ("POST", "/internal/organizations/{acme}/members", {}),
    "members among too many": ("POST", "/internal/organizations/{acme}/members", {"ids": [1] * 1001}),
    "members of one team": ("GET", "/internal/teams/{ops}/members", None),
    "members of no team": ("GET", "/internal/teams/999/members", None),
    "who is blocked": ("GET", "/internal/accounts/{ann}/blocks/{bob}", None),
    "who is not blocked": ("GET", "/internal/accounts/{bob}/blocks/{ann}", None),
    "whom nobody blocks": ("GET", "/internal/accounts/999/blocks/{ann}", None),
    "no team": ("GET", "/internal/teams/999", None),
    "a route that is not there": ("GET", "/internal/nothing", None),
    "own": ("PUT", "/internal/repositories/7", {"owner_id": "ann", "name": "app", "private": False}),
    "own again": ("PUT", "/internal/repositories/7", {"owner_id": "ann", "name": "app", "private": True}),
    "give away": (
        "PUT",
        "/internal/repositories/7",
        {"owner_id": "acme", "name": "app", "private": True, "before": "ann"},
    ),
    "own no more": ("DELETE", "/internal/repositories/7", None),
    "own no more what has no id": ("DELETE", "/internal/repositories/x", None),
    "own as nobody": ("PUT", "/internal/repositories/8", {"owner_id": 999, "name": "app", "private": False}),
    "own without a name": ("PUT", "/internal/repositories/8", {"owner_id": "ann", "private": False}),
    "own with a wrong type": (
        "PUT",
        "/internal/repositories/8",
        {"owner_id": "ann", "name": 1, "private": 2},
    ),
    "own what has no id": (
        "PUT",
        "/internal/repositories/0",
        {"owner_id": "ann", "name": "app", "private": False},
    ),
}


@pytest.fixture
async def filled(world):
    """The real service with two users, an organization and a team; and the ids of each."""
    ids = {name: await world.add_user(name) for name in ("ann", "robert")}
    ids["bob"] = ids.pop("robert")
    ids["zoe"] = await world.add_user("zoe")
    await world.call("POST", "/admin/users/robert/rename", {"new_username": "bob"}, as_="root")
    await world.call("POST", "/user/keys", {"title": "laptop", "key": KEY.content}, as_="ann")
    for name in ("acme", "hidden"):
        answer = await world.call("POST", "/orgs", {"username": name}, as_="ann")
        ids[name] = answer.json()["id"]
    await world.call("PUT", "/orgs/acme/public_members/ann", as_="ann")
    ops = {"name": "ops", "description": "runs it", "units": ["repo.code", "repo.issues"]}
    await world.call("POST", "/orgs/acme/teams", ops, as_="ann")
    await world.call("PUT", "/user/blocks/bob", as_="ann")
    token = await world.call("POST", "/users/ann/tokens", {"name": "t", "scopes": ["read:user"]}, as_="ann")
    assert token.json()["id"] == 1
    everything = {"permission": "write", "includes_all_repositories": True, "can_create_org_repo": True}
    whole = await world.call(
        "POST", "/orgs/acme/teams", {"name": "whole", "units": ["repo.code"]} | everything, as_="ann"
    )
    ids["whole"] = whole.json()["id"]
    await world.call("PUT", f"/teams/{ids['whole']}/members/zoe", as_="ann")
    teams = (await world.call("GET", "/orgs/acme/teams", as_="ann")).json()
    await world.call("PUT", f"/teams/{teams[1]['id']}/members/bob", as_="root")
    hidden = (await world.call("GET", "/orgs/hidden/teams", as_="ann")).json()
    of_hidden = {"hidden_team": hidden[0]["id"]}
    of_hidden["root"] = (await world.call("GET", "/user", as_="root")).json()["id"]
    return world, ids | of_hidden | {"team": teams[0]["id"], "ops": teams[1]["id"]}


def fake_of(ids):
    fake = FakeIdentity(kid="k", x="x")
    for name in ("ann", "bob", "zoe"):
        fake.add_account(
            ids[name], name, email=f"{name}@example.com", avatar_url="http://ingot.test/avatars/1"
        )
    fake.add_account(ids["root"], "root", admin=True)
    for name in ("acme", "hidden"):
        fake.add_account(ids[name], name, kind="organization")
    fake.ssh_keys[KEY.fingerprint] = (ids["ann"], "laptop")
    fake.signature_keys[KEY.fingerprint] = SignatureKey(
        id=KEY.fingerprint,
        owner=fake.accounts[ids["ann"]],
        addresses=["ann@noreply.localhost", "ann@example.com"],
    )
    fake.former_names["robert"] = ids["bob"]
    fake.principals[ids["ann"], "token:1"] = {"via": "token", "scopes": ["read:user"], "token_id": 1}
    units = [f"repo.{unit}" for unit in UNITS]
    fake.add_team(ids["team"], ids["acme"], "owner", name=OWNERS, units=units)
    fake.add_team(
        ids["ops"], ids["acme"], "read", name="ops", description="runs it", units=["repo.code", "repo.issues"]
    )
    everything = {"includes_all_repositories": True, "can_create_org_repo": True}
    fake.add_team(ids["whole"], ids["acme"], "write", name="whole", **everything)
    code_write, read_two = write_levels({"code": "write"}), write_levels({"code": "read", "issues": "read"})
    fake.join(ids["zoe"], ids["acme"], teams={ids["whole"]: code_write}, everywhere=code_write, creates=True)
    fake.join(ids["ann"], ids["acme"], owner=True, teams={ids["team"]: "owner"})
    fake.join(ids["bob"], ids["acme"], teams={ids["ops"]: read_two})
    fake.blocks.add((ids["ann"], ids["bob"]))
    fake.join(ids["ann"], ids["hidden"], owner=True, teams={ids["hidden_team"]: "owner"}, public=False)
    return fake


def shape(value):
    """Return the keys and types of a JSON value: of a list those of its items, of an error without texts of
    fields."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items() if key != "errors"}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def without(value, keys):
    """The objects of an answer without these keys."""
    if isinstance(value, list):
        return [without(one, keys) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: inner for key, inner in value.items() if key not in keys}


def with_ids(body, ids):
    if isinstance(body, dict):
        return {key: with_ids(value, ids) for key, value in body.items()}
    if isinstance(body, list):
        return [with_ids(value, ids) for value in body]
    return ids.get(body, body)


WRITES = [name for name, (method, _, _) in CASES.items() if method not in ("GET", "POST")]
"""Each has a world of its own; what only reads shares one."""


async def test_the_fake_answers_reads_as_the_internal_api_does(filled):
    for case in (name for name in CASES if name not in WRITES):
        await check_case(*filled, case)


@pytest.mark.parametrize("case", WRITES)
async def test_the_fake_answers_a_write_as_the_internal_api_does(filled, case):
    await check_case(*filled, case)


async def check_case(world, ids, case):
    method, path, body = CASES[case]
    headers = REPOS.headers(ANONYMOUS, peer="repos")
    answers = []
    for app in (world.app, fake_of(ids)):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://identity") as http:
            answers.append(
                await http.request(method, path.format(**ids), json=with_ids(body, ids), headers=headers)
            )
    real, fake = answers
    assert (case, real.status_code, real.headers.get("content-type", "").split(";")[0]) == (
        case,
        fake.status_code,
        fake.headers.get("content-type", ""),
    )
    if real.content:
        assert (case, shape(real.json())) == (case, shape(fake.json()))
    else:
        assert not fake.content
    if real.is_success and case != "jwks" and real.content:
        shown = {"full_name", "avatar_url", "email", "profile"}
        shown |= {"owner"} if case == "signature keys" else set()
        shown |= {"id"} if case == "a team of an import" else set()
        real_body, fake_body = (without(answer.json(), shown) for answer in (real, fake))
        assert (case, real_body) == (case, fake_body)


@pytest.mark.parametrize(
    "path",
    [
        "/internal/accounts/1",
        "/internal/ssh-keys?fingerprint=x",
        "/internal/teams/1",
        "/internal/organizations/1/teams",
        "/internal/organizations/1/team-members",
        "/internal/teams/1/members",
        "/internal/accounts/1/blocks/2",
        "/internal/accounts/by-name/ann",
    ],
)
async def test_neither_answers_a_request_without_a_service(world, path):
    for app in (
        world.app,
        fake_of(
            dict.fromkeys(
                ("ann", "bob", "zoe", "acme", "hidden", "team", "ops", "whole", "hidden_team", "root"), 1
            )
        ),
    ):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://identity") as http:
            assert (await http.get(path)).status_code == 404


async def test_the_fake_notes_paths_and_can_be_unavailable():
    fake = FakeIdentity()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(fake), base_url="http://identity") as http:
        await http.get("/internal/jwks")
        fake.unavailable = True
        assert (await http.get("/internal/accounts/1")).status_code == 503
    assert fake.paths == ["/internal/jwks", "/internal/accounts/1"]
