"""Access: one table of roles and actions, through the public and the internal API."""

import pytest

# (role, private repository) -> level
LEVELS = {
    ("nobody", False): "read",
    ("nobody", True): "none",
    ("stranger", False): "read",
    ("stranger", True): "none",
    ("reader", True): "read",
    ("writer", True): "write",
    ("admin", True): "admin",
    ("team reader", True): "read",
    ("team writer", True): "write",
    ("other team", True): "none",
    ("reader of all", True): "read",
    ("writer of all", True): "write",
    ("admin of all", True): "admin",
    ("reader of all, team writer", True): "write",
    ("admin of all of another organization", True): "none",
    ("owner", True): "owner",
    ("site admin", True): "owner",
}
MEMBERSHIPS = {
    "owner": {"owner": True, "teams": {50: "owner"}},
    "team reader": {"teams": {51: "read"}},
    "team writer": {"teams": {52: "write"}},
    "other team": {"teams": {59: "admin"}},
    "reader of all": {"teams": {53: "read"}, "everywhere": "read"},
    "writer of all": {"teams": {53: "write"}, "everywhere": "write"},
    "admin of all": {"teams": {53: "admin"}, "everywhere": "admin"},
    "reader of all, team writer": {"teams": {52: "write", 53: "read"}, "everywhere": "read"},
}


async def arrange(world, role, private):
    """The repository acme/app, and who plays the role."""
    from ingot_repos.access.store import collaborations

    world.organization(9, "acme")
    world.user(1, "founder")
    founder = world.user(1, "founder").but(admin=True)
    creation = await founder.post(
        "/admin/users/acme/repos", {"name": "app", "private": private, "auto_init": True}
    )
    assert creation.status_code == 201, creation.text
    person = world.user(7, "somebody")
    if role == "nobody":
        return person.but(id=0, name="", via=""), creation.json()["id"]
    if role in ("reader", "writer", "admin"):
        mode = {"reader": "read", "writer": "write"}.get(role, role)
        path = "/api/v1/repos/acme/app/collaborators/somebody"
        assert (await founder.call("PUT", path, {"permission": mode})).status_code == 204
    async with world.database.transaction() as tx:
        for team in (51, 52):
            await collaborations.grant(tx, creation.json()["id"], team)
    if role == "admin of all of another organization":
        world.organization(8, "other")
        world.identity.join(7, 8, teams={58: "admin"}, everywhere="admin")
    if role in MEMBERSHIPS:
        world.identity.join(7, 9, **MEMBERSHIPS[role])
    return person.but(admin=role == "site admin"), creation.json()["id"]


@pytest.mark.parametrize(("role", "private"), LEVELS)
async def test_the_level_of_a_role_is_the_same_for_api_git_and_peers(world, role, private):
    person, repository_id = await arrange(world, role, private)
    level = LEVELS[role, private]
    reached = ["none", "read", "write", "admin", "owner"].index(level)
    nobody = role == "nobody"

    def expect(needed, success):
        if level == "none":
            return 404
        return success if reached >= needed else 401 if nobody else 403

    assert (await person.get("/repos/acme/app")).status_code == expect(1, 200)
    assert (await person.get("/repos/acme/app/raw/README.md")).status_code == expect(1, 200)
    status = await person.post("/repos/acme/app/statuses/master", {"state": "success"})
    assert status.status_code == expect(2, 201)
    edit = await person.call("PATCH", "/api/v1/repos/acme/app", {"website": "https://x.test"})
    assert edit.status_code == expect(3, 200)

    for path in ("by-name/acme/app/access", f"{repository_id}/access"):
        answer = await person.internal("GET", path)
        assert answer.status_code == expect(1, 200)
        if level != "none":
            assert answer.json()["level"] == level

    push = await person.call("GET", "/acme/app.git/info/refs?service=git-receive-pack")
    assert push.status_code == (401 if nobody else expect(1, 200))  # who may read may propose commits
    fetch = await person.call("GET", "/acme/app/info/refs?service=git-upload-pack")
    assert fetch.status_code == (401 if nobody and private else expect(1, 200))

    matches = (await person.get("/repos/search?q=app")).json()["data"]
    if role not in MEMBERSHIPS:  # the search trusts the principal, which is stale here on purpose
        assert bool(matches) == (level != "none")
    assert (await person.call("DELETE", "/api/v1/repos/acme/app")).status_code == expect(4, 204)


@pytest.mark.parametrize(
    ("visibility", "anonymous", "stranger"),
    [("public", 200, 200), ("limited", 404, 200), ("private", 404, 404)],
)
async def test_the_visibility_of_the_owner_bounds_public_repositories(world, visibility, anonymous, stranger):
    world.organization(9, "acme", visibility=visibility)
    root = world.user(1, "root").but(admin=True)
    await root.post("/admin/users/acme/repos", {"name": "app"})
    bob = world.user(2, "bob")
    nobody = bob.but(id=0, name="", via="")
    assert (await nobody.get("/repos/acme/app")).status_code == anonymous
    assert (await bob.get("/repos/acme/app")).status_code == stranger
    assert (await nobody.get("/orgs/acme/repos")).status_code == anonymous
    assert len((await bob.get("/repos/search?q=app")).json()["data"]) == (stranger == 200)


async def test_a_token_without_the_scope_is_refused(ann):
    await ann.create("app")
    narrow = ann.but(scopes=["read:user"])
    assert (await narrow.get("/repos/ann/app")).status_code == 403
    assert (await narrow.call("GET", "/ann/app/info/refs?service=git-upload-pack")).status_code == 403


async def test_an_archived_repository_takes_no_changes_but_can_be_opened_again(ann):
    await ann.create("app", auto_init=True)
    assert (await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": True})).json()["archived"]
    assert (await ann.post("/repos/ann/app/statuses/master", {"state": "success"})).status_code == 403
    assert (await ann.call("GET", "/ann/app/info/refs?service=git-receive-pack")).status_code == 403
    assert not (await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": False})).json()["archived"]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_an_archived_repository_keeps_its_rules_topics_and_push_mirrors(ann):
    await ann.create("app")
    await ann.post("/repos/ann/app/branch_protections", {"rule_name": "main"})
    tag = (await ann.post("/repos/ann/app/tag_protections", {"name_pattern": "v*"})).json()["id"]
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": True})
    changes = [
        ("POST", "branch_protections", {"rule_name": "other"}),
        ("POST", "branch_protections/priority", {"ids": []}),
        ("PATCH", "branch_protections/main", {"enable_push": True}),
        ("DELETE", "branch_protections/main", None),
        ("POST", "tag_protections", {"name_pattern": "w*"}),
        ("PATCH", f"tag_protections/{tag}", {"name_pattern": "w*"}),
        ("DELETE", f"tag_protections/{tag}", None),
        ("PUT", "topics", {"topics": ["one"]}),
        ("PUT", "topics/one", None),
        ("DELETE", "topics/one", None),
        ("POST", "push_mirrors", {"remote_address": "https://example.org/a.git"}),
        ("DELETE", "push_mirrors/origin", None),
        ("POST", "push_mirrors-sync", None),
    ]
    for method, path, body in changes:
        answer = await ann.call(method, f"/api/v1/repos/ann/app/{path}", body)
        assert (answer.status_code, answer.json()["message"]) == (403, "the repository is archived"), path
    assert len((await ann.get("/repos/ann/app/branch_protections")).json()) == 1


async def test_anonymous_git_clients_are_asked_for_a_password_whatever_exists(world, ann):
    await ann.create("secret", private=True)
    nobody = ann.but(id=0, name="", via="")
    answers = [
        await nobody.call("GET", f"/{path}/info/refs?service=git-upload-pack")
        for path in ("ann/secret.git", "ann/nothing.git", "nobody/nothing")
    ]
    assert [a.status_code for a in answers] == [401] * 3
    # Git Credential Manager and git-credential-oauth compare it.
    assert {a.headers["www-authenticate"] for a in answers} == {'Basic realm="Gitea"'}
    world.settings.git_clients_enabled = False
    answer = await nobody.call("GET", "/ann/secret.git/info/refs?service=git-upload-pack")
    assert answer.headers["www-authenticate"] == 'Basic realm="Ingot"'


async def test_a_hidden_organization_looks_like_no_account(world, ann):
    await ann.create("app")
    world.organization(9, "hidden", visibility="private")
    for method in ("GET", "PUT", "DELETE"):
        path = "/api/v1/repos/ann/app/collaborators/"
        there, nowhere = [await ann.call(method, path + name, {}) for name in ("hidden", "absent")]
        assert there.status_code == nowhere.status_code == (404 if method == "GET" else 422)
        assert there.text == nowhere.text.replace("absent", "hidden")


async def test_collaborators_are_listed_checked_and_taken_out(world, ann, bob):
    await ann.create("app", private=True)
    path = "/api/v1/repos/ann/app/collaborators"
    assert (await ann.call("PUT", f"{path}/bob")).status_code == 204
    assert (await bob.get("/repos/ann/app")).json()["permissions"]["push"] is True
    assert (await ann.call("PUT", f"{path}/bob", {"permission": "read"})).status_code == 204
    assert (await bob.get("/repos/ann/app")).json()["permissions"]["push"] is False
    listed = (await ann.call("GET", path)).json()
    assert [(user["login"], user["permission"]) for user in listed] == [("bob", "read")]
    assert (await ann.call("PUT", f"{path}/nobody")).status_code == 422
    assert (await bob.call("DELETE", f"{path}/bob")).status_code == 204
    assert (await bob.get("/repos/ann/app")).status_code == 404
    assert len(await world.events("access")) == 3


async def test_internal_routes_are_for_peers_only(ann):
    created = await ann.create("app")
    for path in ("by-name/ann/app/access", f"{created['id']}/access", f"{created['id']}/branches/x"):
        assert (await ann.call("GET", f"/internal/repositories/{path}")).status_code == 404


@pytest.mark.parametrize("name", ["compare", "merge", "diff", "branches", "access", "by-name", "level"])
async def test_a_repository_may_be_called_like_an_internal_route(ann, name):
    created = await ann.create(name)
    answer = await ann.internal("GET", f"by-name/ann/{name}/access")
    assert answer.json()["repository"]["id"] == created["id"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PATCH", "/repos/ann/secret"),
        ("POST", "/repos/ann/secret/statuses/master"),
        ("POST", "/repos/ann/secret/forks"),
        ("PUT", "/repos/ann/secret/collaborators/bob"),
    ],
)
async def test_who_may_not_know_of_a_repository_learns_nothing_by_a_wrong_body(world, ann, bob, method, path):
    await ann.create("secret", private=True)
    for caller in (bob, bob.but(id=0, name="", via="")):
        answers = [
            await caller.call(
                method, f"/api/v1{at}", content=b"{", headers={"content-type": "application/json"}
            )
            for at in (path, path.replace("secret", "nothing"))
        ]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert answers[0].json() == answers[1].json()


async def test_an_administrator_who_does_not_own_a_repository_neither_deletes_nor_gives_it_away(
    world, ann, bob
):
    await ann.create("app")
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "admin"})
    assert (await bob.call("PATCH", "/api/v1/repos/ann/app", {"description": "mine"})).status_code == 200
    assert (await bob.call("DELETE", "/api/v1/repos/ann/app")).status_code == 403
    assert (await bob.post("/repos/ann/app/transfer", {"new_owner": "bob"})).status_code == 403
    [row] = await world.rows("repository")
    assert (row.owner_id, row.state) == (1, "ready")
    assert await world.rows("transfer") == []
