"""Deploy keys: who may add which, and what each may do."""

import base64

import pytest

PATH = "/api/v1/repos/ann/app/keys"


def ed25519(number, comment=""):
    blob = b"\0\0\0\x0bssh-ed25519\0\0\0 " + number.to_bytes(32)
    return f"ssh-ed25519 {base64.b64encode(blob).decode()} {comment}".strip()


@pytest.fixture
async def app(ann):
    return await ann.create("app", private=True)


async def let_in(person, number=1, *, title="", path="ann/app", **more):
    body = {"title": title or f"key {number}", "key": ed25519(number), **more}
    return await person.post(f"/repos/{path}/keys", body)


async def test_a_key_is_kept_in_one_form_and_reads_only_unless_told(ann, app):
    answer = await ann.post(
        "/repos/ann/app/keys", {"title": " ci ", "key": f"\n{ed25519(1, comment='me   here')}  "}
    )
    assert answer.status_code == 201, answer.text
    deploy_key = answer.json()
    assert (deploy_key["title"], deploy_key["key"]) == ("ci", ed25519(1, comment="me here"))
    assert (deploy_key["read_only"], deploy_key["key_id"]) == (True, deploy_key["id"])
    assert deploy_key["fingerprint"].startswith("SHA256:")
    assert deploy_key["url"] == f"http://ingot.test{PATH}/{deploy_key['id']}"
    assert deploy_key["created_at"] > "2020"
    assert deploy_key["repository"] == (await ann.get("/repos/ann/app")).json()
    assert (await ann.get(f"/repos/ann/app/keys/{deploy_key['id']}")).json() == deploy_key
    assert (await let_in(ann, 2, read_only=False)).json()["read_only"] is False


async def test_keys_are_listed_in_the_order_of_their_addition(world, ann, app):
    deploy_key = [(await let_in(ann, number)).json() for number in (1, 2, 3)]
    assert (await ann.get("/repos/ann/app/keys")).json() == deploy_key
    second = await ann.get("/repos/ann/app/keys?limit=1&page=2")
    assert (second.json(), second.headers["x-total-count"]) == ([deploy_key[1]], "3")
    for query in (
        f"key_id={deploy_key[2]['id']}",
        f"fingerprint={deploy_key[2]['fingerprint'].replace('+', '%2B')}",
    ):
        assert (await ann.get(f"/repos/ann/app/keys?{query}")).json() == [deploy_key[2]]
    for query in (
        "key_id=0",
        f"key_id={10**20}",
        f"key_id=-{10**20}",
        "fingerprint=%ED%A0%80",
    ):
        assert (await ann.get(f"/repos/ann/app/keys?{query}")).json() == []
    with world.count_statements() as statements:
        await ann.get("/repos/ann/app/keys")
    # On PostgreSQL the repository is looked up past SQLAlchemy, whose statements are counted (ADR 12).
    assert len(statements) == 3


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "title"),
        ({"title": "k"}, 422, "key"),
        ({"title": " ", "key": ed25519(1)}, 422, "title"),
        ({"title": "t" * 256, "key": ed25519(1)}, 422, "title"),
        ({"title": "k", "key": ""}, 422, "key"),
        ({"title": "k", "key": "no key"}, 422, "key"),
        ({"title": "k", "key": ed25519(1).replace("ssh-ed25519 ", "ssh-rsa ")}, 422, "key"),
        ({"title": "k", "key": f"{ed25519(1)}\n{ed25519(2)}"}, 422, "key"),
        ({"title": "k", "key": "A" * 20_000}, 422, "key"),
        ({"title": "k", "key": 5}, 422, "key"),
    ],
)
async def test_a_bad_key_is_refused_by_field(world, ann, app, body, status, field):
    answer = await ann.post("/repos/ann/app/keys", body)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, field)
    assert await world.rows("deploy_key") == []


async def test_key_and_title_are_unique_in_a_repository_only(ann, app):
    await let_in(ann, 1, title="ci")
    for number, title, field in ((1, "other", "key"), (2, "ci", "title"), (1, "ci", "key")):
        answer = await let_in(ann, number, title=title)
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "taken")
        assert answer.json()["errors"][0]["field"] == field
    await ann.create("other")
    assert (await let_in(ann, 1, title="ci", path="ann/other")).status_code == 201


async def test_keys_go_with_their_repository_and_their_ids_never_come_back(world, ann, app):
    first = (await let_in(ann)).json()
    assert (await ann.call("DELETE", f"{PATH}/{first['id']}")).status_code == 204
    assert (await ann.call("DELETE", f"{PATH}/{first['id']}")).status_code == 204
    assert (await ann.get(f"/repos/ann/app/keys/{first['id']}")).status_code == 404
    assert (await let_in(ann)).json()["id"] > first["id"]
    await ann.call("DELETE", "/api/v1/repos/ann/app")
    assert await world.rows("deploy_key") == []


async def test_a_key_of_another_repository_is_neither_shown_nor_taken_out(ann, app):
    deploy_key = (await let_in(ann)).json()
    await ann.create("other")
    assert (await ann.get(f"/repos/ann/other/keys/{deploy_key['id']}")).status_code == 404
    assert (await ann.get(f"/repos/ann/other/keys?key_id={deploy_key['id']}")).json() == []
    await ann.call("DELETE", f"/api/v1/repos/ann/other/keys/{deploy_key['id']}")
    assert (await ann.get(f"/repos/ann/app/keys/{deploy_key['id']}")).status_code == 200


@pytest.mark.parametrize(("mode", "status"), [("read", 403), ("write", 403), ("admin", 201)])
async def test_only_administrators_let_keys_in_and_see_them(ann, bob, app, mode, status):
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": mode})
    for number, read_only in ((1, True), (2, False)):
        assert (await let_in(bob, number, read_only=read_only)).status_code == status
    assert (await bob.get("/repos/ann/app/keys")).status_code == (200 if status == 201 else 403)
    deploy_key = (await let_in(ann, 3)).json()["id"]
    deleted = await bob.call("DELETE", f"{PATH}/{deploy_key}")
    assert deleted.status_code == (204 if status == 201 else 403)
