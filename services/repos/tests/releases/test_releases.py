"""Releases: their tags, drafts and lists, and which events there are."""

from functools import partial

import pytest

from ingot_repos.releases.store import releases
from ingot_testing.service import change_at_once

from ..world import commit, git, work_tree

PATH = "/api/v1/repos/ann/app/releases"


@pytest.fixture
async def app(ann):
    """ann/app with one commit on master."""
    return await ann.create("app", auto_init=True)


async def make(person, tag="v1", **more):
    answer = await person.post("/repos/ann/app/releases", {"tag_name": tag, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def tag_tip(world, repository_id, name):
    from ingot_git.refs.refs import tag_commit

    return await world.components.storage.call(repository_id, tag_commit, name)


async def test_a_release_makes_its_tag_at_the_default_branch(world, ann, app):
    release = await make(ann, "v1", name="One", body="what is new")
    head = (await ann.get("/repos/ann/app/branches/master")).json()["commit"]
    assert await tag_tip(world, app["id"], "v1") == head["id"]
    assert (release["tag_name"], release["name"], release["body"]) == ("v1", "One", "what is new")
    assert (release["draft"], release["prerelease"], release["author"]["login"]) == (False, False, "ann")
    assert release["created_at"] == head["timestamp"]
    assert release["published_at"] >= release["created_at"]
    assert release["url"] == f"http://ingot.test{PATH}/{release['id']}"
    for archive in (release["zipball_url"], release["tarball_url"]):
        assert (await ann.call("GET", archive.removeprefix("http://ingot.test"))).status_code == 200
    assert (await ann.get(f"/repos/ann/app/releases/{release['id']}")).json() == release


async def test_a_release_is_announced_after_the_push_of_its_tag(world, ann, app):
    release = await make(ann)
    types = [event["type"] for event in await world.events()]
    assert types == ["repos.repository.created.v1", "repos.push.received.v1", "repos.release.changed.v1"]
    (event,) = await world.events("release")
    assert (event["action"], event["sender"]["login"]) == ("published", "ann")
    assert event["release"] == release
    assert not event["repository"]["permissions"]["admin"]


async def test_a_tag_that_is_there_stays_where_it_is(world, ann, app, git_url, tmp_path):
    work = await work_tree(tmp_path)
    await git("pull", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    await git("tag", "-a", "-m", "annotated", "rel/1.0", cwd=work)
    tagged = (await git("rev-parse", "HEAD", cwd=work)).strip()
    await commit(work)
    await git("push", "-q", f"{git_url}/ann/app.git", "master", "rel/1.0", cwd=work, person=ann)
    release = await make(ann, "rel/1.0", target_commitish="master")
    assert await tag_tip(world, app["id"], "rel/1.0") == tagged
    assert (await ann.get("/repos/ann/app/releases/tags/rel/1.0")).json() == release
    assert [e["ref"] for e in await world.events("push")] == ["refs/heads/master", "refs/tags/rel/1.0"]


async def test_a_draft_makes_no_tag_and_exists_for_writers_only(world, ann, bob, app):
    draft = await make(ann, draft=True)
    assert (draft["draft"], draft["published_at"]) == (True, draft["created_at"])
    assert await tag_tip(world, app["id"], "v1") is None
    assert await world.events("release") == []
    nobody = bob.but(id=0, name="", via="")
    for reader in (bob, nobody):
        for path in (f"{draft['id']}", "tags/v1", "latest"):
            assert (await reader.get(f"/repos/ann/app/releases/{path}")).status_code == 404
        for query in ("", "?draft=true", "?draft=false"):
            answer = await reader.get(f"/repos/ann/app/releases{query}")
            assert (answer.json(), answer.headers["x-total-count"]) == ([], "0")
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    assert [r["id"] for r in (await bob.get("/repos/ann/app/releases")).json()] == [draft["id"]]
    assert (await ann.get("/repos/ann/app/releases/latest")).status_code == 404


async def test_publishing_a_draft_makes_its_tag_and_is_announced(world, ann, app):
    draft = await make(ann, draft=True, name="One")
    answer = await ann.call("PATCH", f"{PATH}/{draft['id']}", {"draft": False, "name": "", "body": "b"})
    assert answer.status_code == 200, answer.text
    published = answer.json()
    assert (published["draft"], published["name"], published["body"]) == (False, "One", "b")
    assert published["published_at"] is not None
    assert await tag_tip(world, app["id"], "v1") is not None
    (event,) = await world.events("release")
    assert (event["action"], event["release"]) == ("published", published)


async def test_what_is_absent_or_empty_stays(world, ann, app):
    release = await make(ann, name="One", body="text", prerelease=True)
    edited = await ann.call("PATCH", f"{PATH}/{release['id']}", {"body": "new", "name": "", "tag_name": None})
    assert edited.json() == release | {"body": "new"}
    assert [event["action"] for event in await world.events("release")] == ["published", "updated"]


async def test_another_tag_is_made_for_a_published_release(world, ann, app):
    release = await make(ann)
    edited = await ann.call("PATCH", f"{PATH}/{release['id']}", {"tag_name": "v2"})
    assert edited.json()["tag_name"] == "v2"
    assert edited.json()["published_at"] == release["published_at"]
    assert await tag_tip(world, app["id"], "v2") == await tag_tip(world, app["id"], "v1")
    assert [event["action"] for event in await world.events("release")] == ["published", "updated"]


async def test_what_becomes_a_draft_again_is_announced_as_gone(world, ann, bob, app):
    release = await make(ann)
    draft = (await ann.call("PATCH", f"{PATH}/{release['id']}", {"draft": True})).json()
    assert draft["published_at"] == draft["created_at"]
    assert (await bob.get(f"/repos/ann/app/releases/{release['id']}")).status_code == 404
    assert [event["action"] for event in await world.events("release")] == ["published", "deleted"]
    await ann.call("PATCH", f"{PATH}/{release['id']}", {"name": "still a draft"})
    assert len(await world.events("release")) == 2


async def test_deleting_keeps_the_tag(world, ann, app):
    release = await make(ann)
    assert (await ann.call("DELETE", f"{PATH}/{release['id']}")).status_code == 204
    assert (await ann.call("DELETE", f"{PATH}/{release['id']}")).status_code == 404
    assert await tag_tip(world, app["id"], "v1") is not None
    assert [event["action"] for event in await world.events("release")] == ["published", "deleted"]
    draft = await make(ann, "v2", draft=True)
    assert (await ann.call("DELETE", f"{PATH}/{draft['id']}")).status_code == 204
    assert len(await world.events("release")) == 2
    assert (await make(ann))["id"] > draft["id"]


@pytest.mark.parametrize("way", ["deleted", "made a draft"])
async def test_a_release_that_is_gone_is_no_longer_counted(world, ann, app, way):
    await make(ann, "v1")
    release = await make(ann, "v2")
    path = f"{PATH}/{release['id']}"
    if way == "deleted":
        answer = await ann.call("DELETE", path)
    else:
        answer = await ann.call("PATCH", path, {"draft": True})
    assert answer.is_success
    assert (await ann.get("/repos/ann/app")).json()["release_counter"] == 1
    counts = [event["repository"]["release_counter"] for event in await world.events("release")]
    assert counts == [1, 2, 1]


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
@pytest.mark.parametrize("way", ["published", "removed"])
async def test_two_releases_that_change_at_once_are_both_counted(world, ann, app, way):
    first, second = [(await make(ann, tag, draft=way == "published"))["id"] for tag in ("v1", "v2")]

    async def change(tx, release_id):
        if way == "published":
            await releases.change(tx, release_id, draft=False)
        else:
            await releases.remove(tx, release_id)
        await releases.count_published(tx, app["id"])

    await change_at_once(
        world.database, *(partial(change, release_id=release_id) for release_id in (first, second))
    )
    count = (await ann.get("/repos/ann/app")).json()["release_counter"]
    assert count == (2 if way == "published" else 0)


async def test_a_release_is_counted_once_however_often_it_is_published(world, ann, app):
    release = await make(ann, draft=True)
    for draft, count in ((True, 0), (False, 1), (False, 1), (True, 0)):
        edited = await ann.call("PATCH", f"/api/v1/repos/ann/app/releases/{release['id']}", {"draft": draft})
        assert edited.status_code == 200
        assert (await ann.get("/repos/ann/app")).json()["release_counter"] == count


async def test_one_tag_has_one_release_in_any_letter_case(world, ann, app):
    await make(ann, "v1")
    await make(ann, "v2", draft=True)
    for tag in ("v1", "V1", "v2"):
        answer = await ann.post("/repos/ann/app/releases", {"tag_name": tag})
        assert answer.status_code == 409
    third = await make(ann, "v3", draft=True)
    for body in ({"tag_name": "V1"}, {"tag_name": "v2", "draft": False}):
        assert (await ann.call("PATCH", f"{PATH}/{third['id']}", body)).status_code == 409
    assert await tag_tip(world, app["id"], "v2") is None


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "tag_name"),
        ({"tag_name": ""}, "tag_name"),
        *[
            ({"tag_name": tag}, "tag_name")
            for tag in ("-x", "a..b", "a b", "@", "x.lock", "a@{1}", "t" * 256)
        ],
        ({"tag_name": "a:b"}, "tag_name"),
        ({"tag_name": "a\u0000"}, "tag_name"),
        ({"tag_name": "v1", "target_commitish": "nowhere"}, "target_commitish"),
        ({"tag_name": "v1", "target_commitish": "--help"}, "target_commitish"),
        ({"tag_name": "v1", "target_commitish": "f" * 40}, "target_commitish"),
        ({"tag_name": "v1", "name": "n" * 256}, "name"),
        ({"tag_name": "v1", "body": "b" * 1_000_001}, "body"),
    ],
)
async def test_what_cannot_be_released_is_refused_by_field_and_leaves_nothing(world, ann, app, body, field):
    answer = await ann.post("/repos/ann/app/releases", body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field
    assert (await ann.get("/repos/ann/app/releases")).json() == []
    assert await world.events("push") == []


async def test_an_empty_repository_has_drafts_only(ann):
    await ann.create("app")
    assert (await ann.post("/repos/ann/app/releases", {"tag_name": "v1"})).status_code == 422
    draft = await make(ann, draft=True)
    assert (await ann.call("PATCH", f"{PATH}/{draft['id']}", {"draft": False})).status_code == 422


async def test_a_tag_in_the_way_is_a_conflict_and_leaves_no_release(ann, app):
    await make(ann, "v1")
    assert (await ann.post("/repos/ann/app/releases", {"tag_name": "v1/a"})).status_code == 409
    assert [r["tag_name"] for r in (await ann.get("/repos/ann/app/releases")).json()] == ["v1"]


async def test_a_commit_is_tagged_only_if_it_belongs_to_the_history(world, ann, bob, app):
    await bob.post("/repos/ann/app/forks")
    await world.components.workers.step()
    work_sha = (await bob.get("/repos/bob/app/branches/master")).json()["commit"]["id"]
    assert (await make(ann, "v1", target_commitish=work_sha))["target_commitish"] == work_sha
    hidden = await world.components.storage.call(app["id"], _unreachable_commit)
    answer = await ann.post("/repos/ann/app/releases", {"tag_name": "v2", "target_commitish": hidden})
    assert answer.status_code == 422


def _unreachable_commit(repo):
    tip = repo.revparse_single("refs/heads/master")
    return str(repo.create_commit(None, tip.author, tip.author, "hidden", tip.tree_id, [tip.id]))


async def test_the_latest_is_neither_draft_nor_prerelease(ann, bob, app):
    await make(ann, "v1")
    await make(ann, "v2", prerelease=True)
    await make(ann, "v3", draft=True)
    assert (await bob.get("/repos/ann/app/releases/latest")).json()["tag_name"] == "v1"
    for query, tags in (
        ("", ["v3", "v2", "v1"]),
        ("?draft=true", ["v3"]),
        ("?draft=false", ["v2", "v1"]),
        ("?pre-release=true", ["v2"]),
        ("?limit=1&page=3", ["v1"]),
    ):
        answer = await ann.get(f"/repos/ann/app/releases{query}")
        assert [r["tag_name"] for r in answer.json()] == tags, query


async def test_a_list_takes_as_many_statements_for_many_as_for_one(world, ann, bob, app):
    await make(ann, "v0")
    with world.count_statements() as few:
        await bob.get("/repos/ann/app/releases")
    for number in range(1, 12):
        await make(ann, f"v{number}")
    with world.count_statements() as many:
        answer = await bob.get("/repos/ann/app/releases?limit=10")
    assert len(answer.json()) == 10
    assert answer.headers["x-total-count"] == "12"
    assert len(many) == len(few)


async def test_releases_of_another_repository_are_not_found(ann, app):
    release = await make(ann)
    await ann.create("other", auto_init=True)
    path = f"/api/v1/repos/ann/other/releases/{release['id']}"
    for method, body in (("GET", None), ("PATCH", {"name": "x"}), ("DELETE", None)):
        assert (await ann.call(method, path, body)).status_code == 404
    assert (await ann.get(f"/repos/ann/app/releases/{release['id']}")).json() == release


async def test_an_archived_repository_takes_no_releases(ann, app):
    release = await make(ann)
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": True})
    assert (await ann.post("/repos/ann/app/releases", {"tag_name": "v2"})).status_code == 403
    assert (await ann.call("PATCH", f"{PATH}/{release['id']}", {"name": "x"})).status_code == 403
    assert (await ann.call("DELETE", f"{PATH}/{release['id']}")).status_code == 403
    assert (await ann.get("/repos/ann/app/releases")).status_code == 200


async def test_a_fork_that_is_not_ready_takes_no_release_yet(ann, bob, app):
    await bob.post("/repos/ann/app/forks")
    answer = await bob.post("/repos/bob/app/releases", {"tag_name": "v1"})
    assert answer.status_code == 503
    assert "retry-after" in answer.headers


@pytest.mark.parametrize("release_id", ["0", "-1", "x", "9" * 30, "1.5"])
async def test_what_is_no_id_is_not_found(ann, app, release_id):
    assert (await ann.get(f"/repos/ann/app/releases/{release_id}")).status_code == 404


@pytest.mark.parametrize("tag", ["", "%ED%A0%80", "a%2F..%2Fb", "t" * 5000, "%2D%2Dall", "-x"])
async def test_what_is_no_tag_has_no_release(ann, app, tag):
    assert (await ann.get(f"/repos/ann/app/releases/tags/{tag}")).status_code == 404


async def test_a_person_who_is_gone_is_shown_as_the_ghost(world, ann, bob, app):
    from ingot_repos.catalog.store import accounts

    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    release = await make(bob)
    async with world.database.transaction() as tx:
        await accounts.remove(tx, 2)
    shown = (await ann.get(f"/repos/ann/app/releases/{release['id']}")).json()
    assert shown["author"]["login"] == "Ghost"


async def test_a_tag_message_makes_an_annotated_tag(world, ann, app):
    await make(ann, "v1", tag_message="what is in it\n")
    head = (await ann.get("/repos/ann/app/branches/master")).json()["commit"]["id"]
    tag = (await ann.get("/repos/ann/app/tags/v1")).json()
    assert (tag["commit"]["sha"], tag["message"]) == (head, "what is in it")
    annotated = (await ann.get(f"/repos/ann/app/git/tags/{tag['id']}")).json()
    assert (annotated["message"].strip(), annotated["object"]["sha"]) == ("what is in it", head)
    assert (annotated["tagger"]["email"], (await world.events("push"))[-1]["after"]) == (
        "ann@example.org",
        tag["id"],
    )


async def test_mail_gets_a_release_as_it_is_now(ann, app):
    release = await make(ann, "v1", name="One", body="notes")
    draft = await make(ann, "v2", draft=True)
    path = f"/internal/repositories/{app['id']}/releases"
    await ann.call("PATCH", f"{PATH}/{release['id']}", {"body": "better notes"})
    shown = await ann.call("GET", f"{path}/{release['id']}", peer="mail")
    assert shown.json() == {"tag_name": "v1", "name": "One", "body": "better notes"}
    for hidden in (f"{path}/{draft['id']}", f"{path}/{10**18}", path.replace(str(app["id"]), "999") + "/1"):
        assert (await ann.call("GET", hidden, peer="mail")).status_code == 404
    await ann.call("DELETE", f"{PATH}/{release['id']}")
    assert (await ann.call("GET", f"{path}/{release['id']}", peer="mail")).status_code == 404
