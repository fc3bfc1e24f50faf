"""Members of organizations: who they are, who shows it, how they leave."""

import asyncio

import pytest


@pytest.fixture
async def acme(identity):
    """ann owns acme, mia is in its team devs, sam is a stranger. The ids of the teams Owners and devs."""
    for name in ("ann", "mia", "sam"):
        await identity.add_user(name)
    await identity.call("POST", "/orgs", {"username": "acme"}, as_="ann")
    devs = (await identity.call("POST", "/orgs/acme/teams", {"name": "devs"}, as_="ann")).json()["id"]
    await identity.call("PUT", f"/teams/{devs}/members/mia", as_="ann")
    owners = (await identity.call("GET", "/orgs/acme/teams", as_="ann")).json()[0]["id"]
    return owners, devs


async def names(identity, path, as_=""):
    return [user["login"] for user in (await identity.call("GET", path, as_=as_)).json()]


async def test_members_show_and_conceal_themselves(identity, acme):
    assert await names(identity, "/orgs/acme/public_members") == []
    assert (await identity.call("PUT", "/orgs/acme/public_members/mia", as_="mia")).status_code == 204
    assert await names(identity, "/orgs/acme/members", "sam") == ["mia"]
    assert await names(identity, "/orgs/acme/public_members") == ["mia"]
    assert (await identity.call("GET", "/orgs/acme/public_members/mia")).status_code == 204
    assert (await identity.call("GET", "/orgs/acme/members/mia", as_="sam")).status_code == 204
    assert (await identity.call("DELETE", "/orgs/acme/public_members/mia", as_="mia")).status_code == 204
    assert (await identity.call("GET", "/orgs/acme/members/mia", as_="sam")).status_code == 404


async def test_sisters_learn_which_memberships_are_shown(identity, acme):
    mia = (await identity.call("GET", "/users/mia")).json()["id"]
    path = f"/internal/accounts/{mia}/organizations"
    held = (await identity.as_sister(path)).json()
    assert [membership["teams"] for membership in held.values()] == [{str(acme[1]): "read"}]
    assert (await identity.as_sister(f"{path}?public=true")).json() == {}
    await identity.call("PUT", "/orgs/acme/public_members/mia", as_="mia")
    assert (await identity.as_sister(f"{path}?public=true")).json() == held


@pytest.mark.parametrize(
    "path", ["/orgs/none/members/mia", "/orgs/acme/members/nobody", "/orgs/ann/members/mia"]
)
@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_what_is_not_there_is_not_found(identity, acme, method, path):
    assert (await identity.call(method, path, as_="ann")).status_code == 404


async def test_who_is_removed_leaves_all_teams_and_is_announced(identity, acme):
    assert (await identity.call("DELETE", "/orgs/acme/members/mia", as_="ann")).status_code == 204
    assert await names(identity, f"/teams/{acme[1]}/members", "ann") == []
    assert (await identity.events())[-1] == "identity.membership.changed.v1"
    assert (await identity.call("GET", "/orgs/acme/teams", as_="mia")).status_code == 403
    count = len(await identity.events())
    assert (await identity.call("DELETE", "/orgs/acme/members/mia", as_="ann")).status_code == 204
    assert len(await identity.events()) == count


async def test_the_last_owner_is_not_removed(identity, acme):
    answer = await identity.call("DELETE", "/orgs/acme/members/ann", as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "last_owner")


@pytest.mark.parametrize("path", ["/orgs/acme/members/{}", "/teams/{{}}/members/{}"])
async def test_the_last_two_owners_cannot_leave_at_once(identity, acme, path):
    await identity.call("PUT", f"/teams/{acme[0]}/members/mia", as_="ann")
    await identity.call("GET", "/user", as_="mia")
    paths = [path.format(name).format(acme[0]) for name in ("ann", "mia")]
    answers = await asyncio.gather(
        identity.call("DELETE", paths[0], as_="ann"), identity.call("DELETE", paths[1], as_="mia")
    )
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses[0] == 204
    assert statuses[1] in (403, 404, 422)
    listed = await names(identity, "/orgs/acme/members", "root")
    assert len({"ann", "mia"} & set(listed)) == (1 if "orgs" in path else 2)


@pytest.mark.parametrize("spelling", ["users", "user"])
async def test_organizations_of_somebody_are_shown_as_far_as_they_may_be_known(identity, acme, spelling):
    async def seen(caller):
        answer = await identity.call("GET", f"/{spelling}/mia/orgs", as_=caller)
        assert answer.headers["x-total-count"] == str(len(answer.json()))
        return [org["username"] for org in answer.json()]

    assert [await seen(caller) for caller in ("", "sam", "ann", "mia", "root")] == [
        [],
        [],
        ["acme"],
        ["acme"],
        ["acme"],
    ]
    await identity.call("PUT", "/orgs/acme/public_members/mia", as_="mia")
    assert await seen("") == ["acme"]
    await identity.call("PATCH", "/orgs/acme", {"visibility": "limited"}, as_="ann")
    assert [await seen(""), await seen("sam")] == [[], ["acme"]]
    await identity.call("PATCH", "/orgs/acme", {"visibility": "private"}, as_="ann")
    assert [await seen("sam"), await seen("ann")] == [[], ["acme"]]


async def test_an_edit_of_an_organization_leaves_what_is_absent(identity, acme):
    await identity.call("PATCH", "/orgs/acme", {"full_name": "Acme Inc."}, as_="ann")
    answer = await identity.call("PATCH", "/orgs/acme", {"website": "https://acme.example"}, as_="ann")
    assert answer.status_code == 200
    shown = (await identity.call("GET", "/orgs/acme")).json()
    assert (shown["full_name"], shown["website"]) == ("Acme Inc.", "https://acme.example")
    assert (await identity.events())[-1] == "identity.organization.edited.v1"


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"full_name": "x" * 101}, 422, "full_name"),
        ({"description": "x" * 256}, 422, "description"),
        ({"visibility": "secret"}, 422, "visibility"),
        ({"website": 1}, 400, "website"),
    ],
)
async def test_a_bad_edit_of_an_organization_names_the_field(identity, acme, body, status, field):
    answer = await identity.call("PATCH", "/orgs/acme", body, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, field)


async def test_a_deleted_organization_is_gone_with_its_teams(identity, acme):
    assert (await identity.call("DELETE", "/orgs/acme", as_="ann")).status_code == 204
    assert (await identity.events())[-1] == "identity.organization.deleted.v1"
    assert (await identity.call("GET", "/orgs/acme")).status_code == 404
    assert (await identity.call("GET", f"/teams/{acme[1]}", as_="mia")).status_code == 404
    assert (await identity.call("GET", "/user/orgs", as_="mia")).json() == []


async def test_an_edit_of_a_team_leaves_what_is_absent(identity, acme):
    path = f"/teams/{acme[1]}"
    await identity.call("PATCH", path, {"permission": "write", "units": ["repo.code"]}, as_="ann")
    edited = (await identity.call("PATCH", path, {"name": "Makers", "description": "d"}, as_="ann")).json()
    assert edited == {
        "id": acme[1],
        "name": "Makers",
        "description": "d",
        "permission": "write",
        "units": ["repo.code"],
    }
    assert (await identity.as_sister(f"/internal{path}")).json()["permission"] == "write"


async def test_another_permission_of_a_team_makes_its_members_forgotten(identity, acme):
    await identity.call("PATCH", f"/teams/{acme[1]}", {"permission": "admin"}, as_="ann")
    assert (await identity.events())[-1] == "identity.credentials.revoked.v1"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "OWNERS"}, "name"),
        ({"name": ""}, "name"),
        ({"name": "new"}, "name"),
        ({"name": "x" * 31}, "name"),
        ({"description": "x" * 256}, "description"),
        ({"units": ["repo.nothing"]}, "units"),
        ({"units": ["code"]}, "units"),
    ],
)
async def test_a_bad_edit_of_a_team_names_the_field(identity, acme, body, field):
    answer = await identity.call("PATCH", f"/teams/{acme[1]}", body, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


@pytest.mark.parametrize("body", [{"name": "x"}, {"permission": "read"}, {"units": ["repo.code"]}])
async def test_the_team_owners_stays_what_it_is(identity, acme, body):
    assert (await identity.call("PATCH", f"/teams/{acme[0]}", body, as_="ann")).status_code == 422
    assert (await identity.call("DELETE", f"/teams/{acme[0]}", as_="ann")).status_code == 422
    before = (await identity.call("GET", f"/teams/{acme[0]}", as_="ann")).json()
    for described in ({"description": "us"}, before | {"description": "we"}):
        edited = await identity.call("PATCH", f"/teams/{acme[0]}", described, as_="ann")
        assert edited.json() == before | {"description": described["description"]}


async def test_members_of_a_deleted_team_stay_in_the_organization(identity, acme):
    assert (await identity.call("DELETE", f"/teams/{acme[1]}", as_="ann")).status_code == 204
    assert (await identity.events())[-1] == "identity.team.deleted.v1"
    assert await names(identity, "/orgs/acme/members", "ann") == ["ann", "mia"]
    assert (await identity.as_sister(f"/internal/teams/{acme[1]}")).status_code == 404
