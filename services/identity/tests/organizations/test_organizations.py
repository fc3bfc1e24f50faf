"""Organizations: who sees, changes and deletes them."""

import pytest


async def test_its_creator_owns_an_organization(world, acme):
    teams = (await world.call("GET", "/orgs/acme/teams", as_="ann")).json()
    assert [(t["name"], t["permission"]) for t in teams] == [("Owners", "owner"), ("devs", "read")]
    ann = (await world.call("GET", "/users/ann")).json()["id"]
    memberships = (await world.get_as_peer(f"/internal/accounts/{ann}/organizations")).json()
    assert [membership["owner"] for membership in memberships.values()] == [True]


async def test_an_administrator_creates_an_organization_for_somebody(world, acme):
    answer = await world.call("POST", "/admin/users/sam/orgs", {"username": "sams"}, as_="root")
    assert answer.status_code == 201
    assert [o["username"] for o in (await world.call("GET", "/user/orgs", as_="sam")).json()] == ["sams"]


@pytest.mark.parametrize("name", ["ANN", "acme", "", "a/b", "org", "x" * 36])
async def test_an_organization_shares_its_names_with_users(world, acme, name):
    answer = await world.call("POST", "/orgs", {"username": name}, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "username")


@pytest.mark.parametrize(
    ("visibility", "statuses"),
    [("public", (200, 200, 200)), ("limited", (404, 200, 200)), ("private", (404, 404, 200))],
)
async def test_an_organization_is_visible_as_its_visibility_says(world, acme, visibility, statuses):
    await world.call("POST", "/orgs", {"username": "shy", "visibility": visibility}, as_="ann")
    for path in ("/orgs/shy", "/users/shy", "/orgs/shy/members"):
        got = tuple(
            [(await world.call("GET", path, as_=caller)).status_code for caller in ("", "sam", "ann")]
        )
        assert got == statuses


async def test_members_are_concealed_from_people_outside(world, acme):
    assert (await world.call("GET", "/orgs/acme/members", as_="sam")).json() == []
    assert (await world.call("GET", "/orgs/acme/members", as_="sam")).headers["x-total-count"] == "0"
    members = (await world.call("GET", "/orgs/acme/members", as_="ann")).json()
    assert [member["login"] for member in members] == ["ann", "mia"]


async def test_other_services_see_accounts_by_name_and_by_id(world, acme):
    by_name = (await world.get_as_peer("/internal/accounts/by-name/ACME")).json()
    assert (by_name["kind"], by_name["login"]) == ("organization", "acme")
    assert (await world.get_as_peer(f"/internal/accounts/{by_name['id']}")).json() == by_name
    assert (await world.get_as_peer("/internal/accounts/by-name/nobody")).status_code == 404


async def test_a_token_of_an_administrator_shows_what_an_ordinary_user_sees_unless_it_reaches_further(
    world, acme
):
    await world.call("POST", "/orgs", {"username": "shy", "visibility": "private"}, as_="ann")
    answers = {}
    for name, scopes in (
        ("sam", ["read:organization", "read:user"]),
        ("root", ["read:organization", "read:user"]),
        ("root", ["write:organization", "read:user", "read:admin", "sudo"]),
        ("root", ["read:organization", "read:user", "write:admin"]),
    ):
        token = await world.call("POST", f"/users/{name}/tokens", {"name": "t", "scopes": scopes}, as_=name)
        answers[name, *scopes] = shown = []
        for path in (
            "/orgs/shy",
            "/users/shy",
            "/orgs/shy/members",
            "/orgs/acme/members",
            "/orgs/acme/members/ann",
            "/users/ann/orgs",
        ):
            answer = await world.call("GET", path, token=token.json()["sha1"])
            shown.append((answer.status_code, answer.headers.get("x-total-count"), answer.text))
    ordinary, reading, acting, administering = answers.values()
    assert reading == acting == ordinary
    assert [status for status, _, _ in ordinary] == [404, 404, 404, 200, 404, 200]
    assert [status for status, _, _ in administering] == [200, 200, 200, 200, 204, 200]
    assert [(ordinary[at][1], administering[at][1]) for at in (3, 5)] == [("0", "2"), ("0", "2")]


async def test_an_edit_of_an_organization_leaves_what_is_absent(world, acme):
    await world.call("PATCH", "/orgs/acme", {"full_name": "Acme Inc."}, as_="ann")
    answer = await world.call("PATCH", "/orgs/acme", {"website": "https://acme.example"}, as_="ann")
    assert answer.status_code == 200
    shown = (await world.call("GET", "/orgs/acme")).json()
    assert (shown["full_name"], shown["website"]) == ("Acme Inc.", "https://acme.example")
    assert (await world.emitted_types())[-1] == "identity.organization.edited.v1"


@pytest.mark.parametrize(
    ("permission", "expected"),
    [
        ("read", (False, False, False, True)),
        ("write", (False, False, True, True)),
        ("admin", (False, True, True, True)),
    ],
)
async def test_the_permissions_of_a_member_follow_from_the_teams(world, acme, permission, expected):
    await world.call("PATCH", f"/teams/{acme[1]}", {"permission": permission}, as_="ann")
    answer = (await world.call("GET", "/users/mia/orgs/acme/permissions", as_="mia")).json()
    assert tuple(answer[key] for key in ("is_owner", "is_admin", "can_write", "can_read")) == expected
    assert answer["can_create_repository"] is False
    await world.call("PATCH", f"/teams/{acme[1]}", {"can_create_org_repo": True}, as_="ann")
    answer = (await world.call("GET", "/users/mia/orgs/acme/permissions", as_="mia")).json()
    assert (answer["can_create_repository"], answer["is_owner"]) == (True, False)


@pytest.mark.parametrize(
    ("person", "text", "expected"),
    [
        ("", "ACM", ["acme"]),
        ("", "rocket", ["acme"]),
        ("", "sh", []),
        ("sam", "sh", []),
        ("ann", "sh", ["shy"]),
        ("root", "sh", ["shy"]),
        ("ann", "", ["acme", "shy"]),
        ("ann", "ann", []),
    ],
)
async def test_organizations_are_searched_by_those_who_may_know_of_them(world, acme, person, text, expected):
    await world.call("PATCH", "/orgs/acme", {"full_name": "Rocket Works"}, as_="ann")
    await world.call("POST", "/orgs", {"username": "shy", "visibility": "private"}, as_="ann")
    answer = await world.call("GET", f"/orgs?q={text}", as_=person)
    assert [one["username"] for one in answer.json()] == expected
    assert answer.headers["x-total-count"] == str(len(expected))


async def test_permissions_in_an_organization_are_for_those_who_may_know(world, acme):
    owner = (await world.call("GET", "/users/ann/orgs/acme/permissions", as_="mia")).json()
    assert set(owner.values()) == {True}
    stranger = (await world.call("GET", "/users/sam/orgs/acme/permissions", as_="sam")).json()
    assert set(stranger.values()) == {False}
    for path, status in (
        ("/users/mia/orgs/acme/permissions", 403),
        ("/users/nobody/orgs/acme/permissions", 404),
        ("/users/sam/orgs/nothing/permissions", 404),
        ("/users/acme/orgs/acme/permissions", 404),
    ):
        assert (await world.call("GET", path, as_="sam")).status_code == status
    await world.call("PATCH", "/orgs/acme", {"visibility": "private"}, as_="ann")
    hidden = await world.call("GET", "/users/sam/orgs/acme/permissions", as_="sam")
    absent = await world.call("GET", "/users/sam/orgs/nothing/permissions", as_="sam")
    assert (hidden.status_code, hidden.text) == (absent.status_code, absent.text) == (404, absent.text)


async def test_an_organization_has_the_fields_of_later_clients(world):
    await world.add_user("ann")
    body = {"username": "acme", "email": "Us@acme.example", "repo_admin_change_team_access": True}
    created = (await world.call("POST", "/orgs", body, as_="ann")).json()
    assert created | body | {"name": "acme", "visibility": "public"} == created
    changes = {"email": "", "repo_admin_change_team_access": False, "visibility": "limited"}
    edited = (await world.call("PATCH", "/orgs/acme", changes, as_="ann")).json()
    assert edited | changes == edited


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"email": "nonsense"}, 422, "email"),
        ({"full_name": "x" * 101}, 422, "full_name"),
        ({"description": "x" * 256}, 422, "description"),
        ({"visibility": "secret"}, 422, "visibility"),
        ({"website": 1}, 422, "website"),
    ],
)
async def test_a_bad_edit_of_an_organization_names_the_field(world, acme, body, status, field):
    answer = await world.call("PATCH", "/orgs/acme", body, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, field)


async def test_an_organization_is_deleted_with_its_teams(world, acme):
    assert (await world.call("DELETE", "/orgs/acme", as_="ann")).status_code == 204
    assert (await world.emitted_types())[-1] == "identity.organization.deleted.v1"
    assert (await world.call("GET", "/orgs/acme")).status_code == 404
    assert (await world.call("GET", f"/teams/{acme[1]}", as_="mia")).status_code == 404
    assert (await world.call("GET", "/user/orgs", as_="mia")).json() == []
