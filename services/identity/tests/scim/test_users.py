"""Users of SCIM clients: create, read, list, replace, patch, deactivate and delete."""

from urllib.parse import quote

import pytest

from ..world import PASSWORD
from .clients import USER, make_client, user


@pytest.fixture
async def client(world):
    return await make_client(world, trust_email=True)


async def test_a_user_is_created_with_an_account(world, client):
    created = await client.add_user("cy")
    body = created.json()
    assert (created.status_code, created.headers["content-type"]) == (201, "application/scim+json")
    assert created.headers["location"] == body["meta"]["location"]
    assert body["schemas"] == [USER]
    assert (body["userName"], body["externalId"], body["active"]) == ("cy@corp.example", "id-cy", True)
    account = (await world.call("GET", "/users/cy", as_="root")).json()
    assert (account["full_name"], account["email"]) == ("Cy", "cy@corp.example")
    assert (account["source_id"], account["login_name"]) == (client.source_id, "id-cy")
    assert (await client.call("GET", f"Users/{body['id']}")).json() == body


async def test_an_address_is_only_confirmed_where_the_source_is_trusted(world):
    for name, is_trusted in (("one", True), ("two", False)):
        client = await make_client(world, name, trust_email=is_trusted)
        await client.user(name)
        listed = await world.call("GET", f"/admin/emails/search?q={name}@corp", as_="root")
        assert [item["verified"] for item in listed.json()] == [is_trusted]


async def test_a_user_without_an_address_gets_that_of_the_name(world, client):
    await client.user("cy", emails=None)
    assert (await world.call("GET", "/users/cy", as_="root")).json()["email"] == "cy@corp.example"
    answer = await client.add_user("dan", userName="dan", emails=None)
    assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidValue")


@pytest.mark.parametrize(
    ("filter_", "matches"),
    [
        ('userName eq "CY@corp.example"', ["cy"]),
        ('externalId eq "id-dan"', ["dan"]),
        ('emails.value eq "dan@corp.example"', ["dan"]),
        ('emails[type eq "work"].value eq "cy@corp.example"', ["cy"]),
        ('displayName eq "Cy" and active eq true', ["cy"]),
        ('displayName eq "Cy" AND userName eq "dan@corp.example"', []),
        ("active eq false", []),
        ('urn:ietf:params:scim:schemas:core:2.0:User:userName eq "cy@corp.example"', ["cy"]),
        ('externalId eq "ID-CY"', []),
        ('id eq "no id"', []),
        ('displayName eq "a \\" and userName eq \\"b"', []),
    ],
)
async def test_a_filter_finds(client, filter_, matches):
    for name in ("cy", "dan"):
        await client.user(name)
    answer = await client.call("GET", f"Users?filter={quote(filter_)}")
    assert answer.status_code == 200, answer.text
    assert [one["externalId"] for one in answer.json()["Resources"]] == [f"id-{name}" for name in matches]
    assert answer.json()["totalResults"] == len(matches)


@pytest.mark.parametrize(
    "filter_",
    [
        'userName co "c"',
        'userName eq "c" or userName eq "d"',
        'not (userName eq "c")',
        'password eq "c"',
        r'userName eq "a\u0000"',
        r'externalId eq "a\ud800"',
        "userName eq",
        'userName eq "c" and',
        "userName eq true",
        'active eq "true"',
        "userName eq 5",
        'userName eq "\\x"',
        'userName eq "' + "x" * 3000 + '"',
        " and ".join(['userName eq "c"'] * 11),
        "(" * 500,
    ],
)
async def test_another_filter_is_refused(client, filter_):
    answer = await client.call("GET", f"Users?filter={quote(filter_)}")
    assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidFilter")


async def test_a_list_comes_in_pages(client):
    for name in ("cy", "dan", "eve"):
        await client.user(name)

    async def page(query):
        body = (await client.call("GET", f"Users?{query}")).json()
        names = [one["externalId"][3:] for one in body["Resources"]]
        return body["totalResults"], body["startIndex"], body["itemsPerPage"], names

    assert await page("") == (3, 1, 3, ["cy", "dan", "eve"])
    assert await page("startIndex=2&count=1") == (3, 2, 1, ["dan"])
    assert await page("startIndex=0&count=2") == (3, 1, 2, ["cy", "dan"])
    assert await page("startIndex=9") == (3, 9, 0, [])
    assert await page("count=0") == (3, 1, 0, [])
    assert await page("count=-5") == (3, 1, 0, [])
    for query in ("count=x", "startIndex=1.5", "count=" + "9" * 20):
        answer = await client.call("GET", f"Users?{query}")
        assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidValue")


async def test_attributes_are_chosen(client):
    cy = await client.user("cy")
    chosen = (await client.call("GET", f"Users/{cy['id']}?attributes=userName,name.familyName")).json()
    assert set(chosen) == {"schemas", "id", "userName", "name"}
    others = (await client.call("GET", f"Users/{cy['id']}?excludedAttributes=emails")).json()
    assert "emails" not in others
    assert "userName" in others


async def test_a_user_is_replaced_and_the_account_follows(world, client):
    cy = await client.user("cy")
    emails = [{"value": "old@corp.example"}, {"value": "zoe@corp.example", "primary": True}]
    body = user("cy", userName="zoe@corp.example", displayName="Zoe", emails=emails)
    replaced = await client.call("PUT", f"Users/{cy['id']}", body)
    assert (replaced.status_code, replaced.json()["userName"]) == (200, "zoe@corp.example")
    account = (await world.call("GET", "/users/zoe", as_="root")).json()
    assert (account["full_name"], account["email"]) == ("Zoe", "zoe@corp.example")
    assert (await world.call("GET", "/users/cy", as_="root")).status_code in (302, 404)


PATCHES = {
    "Entra ID, a name": (
        [{"op": "Replace", "path": "name.familyName", "value": "Roe"}],
        {"familyName": "Roe"},
    ),
    "Entra ID, a name with its schema": (
        [{"op": "Add", "path": f"{USER}:name.givenName", "value": "Ann"}],
        {"givenName": "Ann"},
    ),
    "Entra ID, an address": (
        [{"op": "Replace", "path": 'emails[type eq "work"].value', "value": "n@corp.example"}],
        {"email": "n@corp.example"},
    ),
    "Entra ID, paths as names": (
        [{"op": "Add", "value": {"displayName": "New", "name.familyName": "Roe"}}],
        {"displayName": "New", "familyName": "Roe"},
    ),
    "Entra ID, what has no meaning here": (
        [
            {"op": "Add", "path": "title", "value": "Boss"},
            {"op": "Add", "path": 'phoneNumbers[type eq "work"].value', "value": "1"},
            {
                "op": "Add",
                "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department",
                "value": "x",
            },
        ],
        {},
    ),
    "Okta, an object": ([{"op": "replace", "value": {"displayName": "New"}}], {"displayName": "New"}),
    "an object for a complex attribute": (
        [{"op": "replace", "path": "name", "value": {"familyName": "Roe"}}],
        {"familyName": "Roe"},
    ),
    "a list for an attribute": (
        [{"op": "replace", "path": "emails", "value": [{"value": "n@corp.example"}]}],
        {"email": "n@corp.example"},
    ),
    "an address that is removed": ([{"op": "remove", "path": 'emails[type eq "work"]'}], {"email": None}),
    "a name that is removed": ([{"op": "remove", "path": "displayName"}], {"displayName": None}),
}


@pytest.mark.parametrize("case", PATCHES)
async def test_a_user_is_patched(client, case):
    operations, changed = PATCHES[case]
    cy = await client.user("cy")
    answer = await client.patch(f"Users/{cy['id']}", *operations)
    assert answer.status_code == 200, answer.text
    before, after = shown(cy), shown(answer.json())
    assert after == before | changed


def shown(body):
    return {
        "userName": body["userName"],
        "displayName": body.get("displayName"),
        **body.get("name", {}),
        "email": body["emails"][0]["value"] if "emails" in body else None,
        "active": body["active"],
    }


@pytest.mark.parametrize(
    ("operations", "scim_type"),
    [
        ([], "invalidSyntax"),
        (["x"], "invalidSyntax"),
        ([{"op": "move", "path": "active"}], "invalidSyntax"),
        ([{"op": "remove"}], "noTarget"),
        ([{"op": "replace", "path": "active"}], "invalidValue"),
        ([{"op": "replace", "path": "active", "value": "maybe"}], "invalidValue"),
        ([{"op": "replace", "value": "x"}], "invalidValue"),
        ([{"op": "replace", "path": "a b", "value": "x"}], "invalidPath"),
        ([{"op": "replace", "path": 5, "value": "x"}], "invalidPath"),
        ([{"op": "replace", "path": 'emails[type ne "work"].value', "value": "x"}], "invalidFilter"),
        ([{"op": "replace", "path": "emails[].value", "value": "x"}], "invalidFilter"),
        ([{"op": "replace", "path": "userName", "value": ""}], "invalidValue"),
        ([{"op": "remove", "path": "userName"}], "invalidValue"),
        ([{"op": "replace", "path": "name", "value": "x"}], "invalidValue"),
        ([{"op": "replace", "path": "emails", "value": [5]}], "invalidValue"),
        ([{"op": "replace", "path": "emails", "value": [{"value": "no address"}]}], "invalidValue"),
        ([{"op": "replace", "path": "externalId", "value": "other"}], "mutability"),
        ([{"op": "replace", "path": "active", "value": True}] * 101, "invalidSyntax"),
    ],
)
async def test_a_bad_patch_changes_nothing(client, operations, scim_type):
    cy = await client.user("cy")
    answer = await client.patch(f"Users/{cy['id']}", *operations)
    assert (answer.status_code, answer.json()["scimType"]) == (400, scim_type)
    assert (await client.call("GET", f"Users/{cy['id']}")).json() == cy


@pytest.mark.parametrize("value", [False, "False", "false"])
async def test_a_user_is_deactivated_and_activated(world, client, value):
    cy = await client.user("cy")
    answer = await client.patch(f"Users/{cy['id']}", {"op": "Replace", "path": "active", "value": value})
    assert answer.json()["active"] is False
    assert (await world.call("GET", "/users/cy", as_="root")).json()["active"] is False
    answer = await client.patch(f"Users/{cy['id']}", {"op": "Replace", "value": {"active": "True"}})
    assert answer.json()["active"] is True
    assert (await world.call("GET", "/users/cy", as_="root")).json()["active"] is True


async def test_what_an_administrator_deactivated_stays_so(world, client):
    cy = await client.user("cy")
    await world.call("PATCH", "/admin/users/cy", {"active": False}, as_="root")
    answer = await client.call("PUT", f"Users/{cy['id']}", user("cy"))
    assert (answer.status_code, answer.json()["active"]) == (200, False)
    for value in (False, True):
        await client.patch(f"Users/{cy['id']}", {"op": "replace", "path": "active", "value": value})
    assert (await world.call("GET", "/users/cy", as_="root")).json()["active"] is False


async def test_a_deleted_user_is_gone_and_the_same_person_gets_the_account_back(world, client):
    cy = await client.user("cy")
    before = (await world.call("GET", "/users/cy", as_="root")).json()
    assert (await client.call("DELETE", f"Users/{cy['id']}")).status_code == 204
    for method in ("GET", "DELETE"):
        assert (await client.call(method, f"Users/{cy['id']}")).status_code == 404
    assert (await client.call("GET", "Users")).json()["totalResults"] == 0
    assert (await world.call("GET", "/users/cy", as_="root")).json() == before | {"active": False}
    await client.user("cy", userName="cynthia@corp.example")
    after = (await world.call("GET", "/users/cynthia", as_="root")).json()
    assert (after["id"], after["active"]) == (before["id"], True)


async def test_a_stale_version_changes_nothing(client):
    cy = await client.user("cy")
    path, version = f"Users/{cy['id']}", cy["meta"]["version"]
    rename = {"op": "replace", "path": "displayName", "value": "New"}
    changed = await client.patch(path, rename, if_match=version)
    assert (changed.status_code, changed.headers["etag"]) == (200, changed.json()["meta"]["version"])
    for stale in (version, "nonsense"):
        assert (await client.patch(path, rename, if_match=stale)).status_code == 412
        assert (await client.call("PUT", path, user("cy"), if_match=stale)).status_code == 412
        assert (await client.call("DELETE", path, if_match=stale)).status_code == 412
    assert (await client.call("DELETE", path, if_match=changed.headers["etag"])).status_code == 204


async def test_an_owner_cannot_unlink_a_managed_account(world, client):
    await client.user("cy")
    await world.call("PATCH", "/admin/users/cy", {"password": PASSWORD}, as_="root")
    path = f"/user/external_accounts/{client.source_id}"
    answer = await world.call("DELETE", path, as_="cy")
    assert answer.status_code == 409, answer.text
    assert "manages" in answer.json()["message"]


async def test_this_server_describes_itself(client):
    config = (await client.call("GET", "ServiceProviderConfig")).json()
    assert (config["patch"]["supported"], config["bulk"]["supported"]) == (True, False)
    assert config["filter"] == {"supported": True, "maxResults": 100}
    for kind, ids in (
        ("ResourceTypes", {"User", "Group"}),
        ("Schemas", {USER, USER.replace("User", "Group")}),
    ):
        listed = (await client.call("GET", kind)).json()["Resources"]
        assert {one["id"] for one in listed} == ids
        for one in listed:
            assert (await client.call("GET", f"{kind}/{one['id']}")).json() == one
        assert (await client.call("GET", f"{kind}/Nothing")).status_code == 404
