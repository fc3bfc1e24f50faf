"""OAuth2 applications over the API: who may, what is refused, and that secrets are shown once."""

import uuid

import pytest

from ingot_identity.accounts.store import queries as accounts
from ingot_identity.oauth2.rules import applications as oauth2_applications
from ingot_identity.oauth2.store import applications as store
from ingot_identity.tokens import rules as tokens

PATH = "/user/applications/oauth2"
APPLICATION = {"name": "ci", "redirect_uris": ["https://ci.example.com/cb"], "confidential_client": True}


@pytest.fixture
async def people(world):
    """ann and bob have an account."""
    for name in ("ann", "bob"):
        await world.add_user(name)
    return world


async def make(world, who="ann", **changes):
    return await world.call("POST", PATH, APPLICATION | changes, as_=who)


async def stored(world, application):
    async with world.database.read() as db:
        row = await accounts.get_by_login(db, "ann")
        return await store.get(db, row.id, application["id"])


async def token(world, scopes, restricted_to=()):
    async with world.database.transaction() as tx:
        row = await accounts.get_by_login(tx, "ann")
        return (await tokens.create(tx, row.id, "t", scopes, None, restricted_to))[1]


async def test_an_application_is_created_with_an_id_and_a_secret(people):
    answer = await make(people)
    assert answer.status_code == 201
    application = answer.json()
    assert uuid.UUID(application.pop("client_id")).version == 4
    assert len(application.pop("client_secret")) == 68
    assert application.pop("created").endswith("Z")
    assert application.pop("id") > 0
    assert application == APPLICATION | {"skip_secondary_authorization": False}


async def test_an_application_of_which_nothing_is_said_keeps_no_secret(people):
    answer = await people.call(
        "POST", PATH, {"name": "tea", "redirect_uris": ["http://127.0.0.1/"]}, as_="ann"
    )
    assert answer.json()["confidential_client"] is False


async def test_the_secret_is_shown_once_and_stored_as_a_digest(people):
    application = (await make(people)).json()
    for path in (PATH, f"{PATH}/{application['id']}"):
        shown = (await people.call("GET", path, as_="ann")).json()
        shown = shown[0] if isinstance(shown, list) else shown
        assert shown == application | {"client_secret": ""}
    row = await stored(people, application)
    assert row.secret_sha256 == tokens.digest(application["client_secret"])


async def test_a_change_leaves_what_is_absent_and_replaces_the_secret(people):
    application = (await make(people)).json()
    answer = await people.call("PATCH", f"{PATH}/{application['id']}", {"name": "cd"}, as_="ann")
    assert answer.status_code == 200
    changed = answer.json()
    assert changed["client_secret"] != application["client_secret"]
    assert (await stored(people, application)).secret_sha256 == tokens.digest(changed["client_secret"])
    assert changed == application | {"name": "cd", "client_secret": changed["client_secret"]}


async def test_a_change_that_is_refused_leaves_the_secret(people):
    application = (await make(people)).json()
    path = f"{PATH}/{application['id']}"
    assert (await people.call("PATCH", path, {"redirect_uris": ["x"]}, as_="ann")).status_code == 422
    row = await stored(people, application)
    assert row.secret_sha256 == tokens.digest(application["client_secret"])


async def test_an_application_is_deleted_once(people):
    path = f"{PATH}/{(await make(people)).json()['id']}"
    assert (await people.call("DELETE", path, as_="ann")).status_code == 204
    assert (await people.call("DELETE", path, as_="ann")).status_code == 404
    assert (await people.call("GET", PATH, as_="ann")).json() == []


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_the_application_of_another_is_not_there(people, method):
    application = (await make(people)).json()
    for who in ("bob", "root"):
        answer = await people.call(method, f"{PATH}/{application['id']}", {"name": "mine"}, as_=who)
        unknown = await people.call(method, f"{PATH}/{10**9}", {"name": "mine"}, as_=who)
        assert (answer.status_code, answer.json()) == (404, unknown.json())
    assert (await people.call("GET", PATH, as_="bob")).json() == []
    row = await stored(people, application)
    assert row.secret_sha256 == tokens.digest(application["client_secret"])


async def test_a_list_has_pages_and_costs_two_statements(people):
    ids = [(await make(people, name=f"app{n}")).json()["id"] for n in range(5)]
    await people.call("GET", PATH, as_="ann")
    with people.count_statements() as statements:
        answer = await people.call("GET", f"{PATH}?limit=2&page=2", as_="ann")
    assert [row["id"] for row in answer.json()] == [ids[2], ids[1]]
    assert answer.headers["x-total-count"] == "5"
    assert len(statements) == 2


async def test_an_account_has_a_limited_number_of_applications(people, monkeypatch):
    monkeypatch.setattr(oauth2_applications, "MOST_APPLICATIONS", 1)
    assert (await make(people)).status_code == 201
    answer = await make(people)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "limit")


@pytest.mark.parametrize(
    ("scopes", "restricted_to", "reads", "writes"),
    [
        (["all"], (), 200, 201),
        (["write:user"], (), 200, 201),
        (["read:user"], (), 200, 403),
        (["write:repository"], (), 403, 403),
        (["all"], (7,), 200, 403),
    ],
)
async def test_a_token_needs_the_scope_and_no_restriction(people, scopes, restricted_to, reads, writes):
    secret = await token(people, scopes, restricted_to)
    assert (await people.call("GET", PATH, token=secret)).status_code == reads
    assert (await people.call("POST", PATH, APPLICATION, token=secret)).status_code == writes


async def test_only_administrators_make_applications_that_need_no_consent(people):
    answer = await make(people, skip_secondary_authorization=True)
    assert (answer.status_code, answer.json()["skip_secondary_authorization"]) == (201, False)
    answer = await make(people, "root", skip_secondary_authorization=True)
    assert answer.json()["skip_secondary_authorization"] is True
    application = (await make(people)).json()
    path, body = f"{PATH}/{application['id']}", {"skip_secondary_authorization": True}
    answer = await people.call("PATCH", path, APPLICATION | body, as_="ann")
    assert (answer.status_code, answer.json()["skip_secondary_authorization"]) == (200, False)


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"name": ""}, 422, "name"),
        ({"name": "  "}, 422, "name"),
        ({"name": "x" * 256}, 422, "name"),
        ({"name": 5}, 422, "name"),
        ({"name": "a\x00"}, 422, "name"),
        ({"redirect_uris": []}, 422, "redirect_uris"),
        ({"redirect_uris": [f"https://x.io/{n}" for n in range(21)]}, 422, "redirect_uris"),
        ({"redirect_uris": [5]}, 422, "redirect_uris[0]"),
        ({"redirect_uris": {}}, 422, "redirect_uris"),
        ({"redirect_uris": ["https://x.io/" + "x" * 2_000]}, 422, "redirect_uris[0]"),
        ({"redirect_uris": ["https://x.io/*"]}, 422, "redirect_uris"),
        ({"confidential_client": "perhaps"}, 422, "confidential_client"),
    ],
)
async def test_bad_fields_are_refused_by_name(people, changes, status, field):
    answer = await make(people, **changes)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, field)
    assert (await people.call("GET", PATH, as_="ann")).json() == []
