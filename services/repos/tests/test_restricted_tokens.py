"""Tokens that are restricted to some repositories: for all others their owner is anonymous."""

import pytest

from .world import git

OTHERS = ("own", "public", "secret", "foreign")


async def arrange(world, **who):
    """Repositories of ann (``named``, ``own``, ``secret``), of acme (``foreign``) and of bob (``public``).

    All but ``named`` and ``public`` are private. The token is ann's and restricted to ``named``.
    """
    ann, bob = world.user(1, "ann").but(**who), world.user(2, "bob")
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True, teams={50: "owner"})
    ids = {"named": (await ann.create("named", private=True, auto_init=True))["id"]}
    for name in ("own", "secret"):
        ids[name] = (await ann.create(name, private=True, auto_init=True))["id"]
    creation = await ann.post("/orgs/acme/repos", {"name": "foreign", "private": True, "auto_init": True})
    ids["foreign"] = creation.json()["id"]
    ids["public"] = (await bob.create("public", auto_init=True))["id"]
    return ann.but(restricted_to=[ids["named"]]), ids


def path_of(name):
    return {"foreign": "acme/foreign", "public": "bob/public"}.get(name, f"ann/{name}")


@pytest.mark.parametrize("admin", [False, True], ids=["somebody", "site administrator"])
async def test_every_door_is_open_at_the_named_repository_and_as_to_nobody_elsewhere(world, admin):
    token, ids = await arrange(world, admin=admin)
    for name in ("named", *OTHERS):
        repo, named, visible = path_of(name), name == "named", name in ("named", "public")
        reading, writing = 200 if visible else 404, 403 if visible else 404
        assert (await token.get(f"/repos/{repo}")).status_code == reading, name
        assert (await token.get(f"/repositories/{ids[name]}")).status_code == reading
        assert (await token.get(f"/repos/{repo}/raw/README.md")).status_code == reading
        status = await token.post(f"/repos/{repo}/statuses/master", {"state": "success"})
        assert status.status_code == (201 if named else writing)
        edit = await token.call("PATCH", f"/api/v1/repos/{repo}", {"website": "https://x.test"})
        assert edit.status_code == (200 if named else writing)
        watch = await token.call("PUT", f"/api/v1/repos/{repo}/subscription")
        assert watch.status_code in ((200,) if named else (403, 404))
        fetch = await token.call("GET", f"/{repo}.git/info/refs?service=git-upload-pack")
        assert fetch.status_code == reading
        push = await token.call("GET", f"/{repo}.git/info/refs?service=git-receive-pack")
        assert push.status_code == (200 if named else writing)
        for inner in (f"by-name/{repo}/access", f"{ids[name]}/access"):
            assert (await token.internal("GET", inner)).status_code == reading
        if visible:
            level = (await token.internal("GET", f"by-name/{repo}/access")).json()["level"]
            assert level == ("owner" if named else "read")


@pytest.mark.parametrize("admin", [False, True], ids=["somebody", "site administrator"])
@pytest.mark.parametrize(
    "path", ["/user/repos", "/repos/search?q=", "/repos/search?uid=1", "/users/ann/repos", "/orgs/acme/repos"]
)
async def test_lists_and_their_counts_show_the_named_and_the_public_ones(world, path, admin):
    token, _ = await arrange(world, admin=admin)
    answer = await token.get(path)
    matches = answer.json()["data"] if "search" in path else answer.json()
    shown = {repository["name"] for repository in matches}
    assert shown <= {"named", "public"}
    assert "secret" not in answer.text
    assert int(answer.headers["x-total-count"]) == len(shown)
    assert ("named" in shown) == ("acme" not in path)


async def test_a_list_costs_a_restricted_token_as_many_statements_as_any(world):
    token, _ = await arrange(world)
    with world.count_statements() as all_:
        await token.but(restricted_to=None).get("/user/repos")
    with world.count_statements() as restricted:
        await token.get("/user/repos")
    assert len(restricted) == len(all_)


async def test_it_makes_no_repositories_and_gives_none_away(world):
    token, _ = await arrange(world, admin=True)
    attempts = [
        ("/user/repos", {"name": "more"}),
        ("/orgs/acme/repos", {"name": "more"}),
        ("/admin/users/bob/repos", {"name": "more"}),
        ("/repos/bob/public/forks", {}),
        ("/repos/ann/named/forks", {"organization": "acme"}),
        ("/repos/ann/named/transfer", {"new_owner": "acme"}),
        ("/repos/ann/named/reparent", {"new_owner": "acme"}),
        ("/admin/unadopted/ann/more", {}),
        ("/admin/imports", {"service": "gitea", "address": "http://127.0.0.1", "source": "there"}),
    ]
    before = await world.rows("repository")
    for path, body in attempts:
        answer = await token.post(path, body)
        assert (answer.status_code, "restricted" in answer.json()["message"]) == (403, True), path
    assert len(await world.rows("repository")) == len(before)


async def test_private_organizations_and_teams_are_not_there_for_it(world):
    token, _ = await arrange(world)
    world.organization(10, "cabal", visibility="private")
    world.identity.join(1, 10, owner=True, teams={51: "owner"})
    world.identity.add_team(51, 10, "owner")
    for who, status in ((token.but(restricted_to=None), 200), (token, 404)):
        assert (await who.get("/orgs/cabal/repos")).status_code == status
        assert (await who.get("/teams/51/repos")).status_code == status
    assert (await token.call("PUT", "/api/v1/teams/51/repos/ann/named")).status_code == 404


async def test_it_stars_nothing_for_its_owner(world):
    token, _ = await arrange(world)
    assert (await token.call("PUT", "/api/v1/user/starred/bob/public")).status_code == 403
    assert (await token.get("/user/starred")).json() == []


async def test_a_token_whose_repositories_are_gone_reaches_none(world):
    token, _ = await arrange(world)
    assert (await token.call("DELETE", "/api/v1/repos/ann/named")).status_code == 204
    assert (await token.get("/user/repos")).json() == []
    assert (await token.get("/repos/ann/own")).status_code == 404


async def test_git_pushes_to_the_named_repository_alone(world, git_url, tmp_path):
    token, _ = await arrange(world)
    await git("clone", f"{git_url}/ann/named.git", "clone", cwd=tmp_path, person=token)
    clone = tmp_path / "clone"
    await git("commit", "--allow-empty", "-m", "more", cwd=clone)
    before = len(await world.events("push"))
    await git("push", "origin", "HEAD", cwd=clone, person=token)
    assert [event["confined"] for event in (await world.events("push"))[before:]] == [True]
    for refused in ("bob/public", "ann/own"):
        url = f"{git_url}/{refused}.git"
        _, code = await git("push", url, "HEAD", cwd=clone, person=token, check=False)
        assert code != 0
