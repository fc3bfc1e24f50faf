"""Tags by the API."""

import pytest

from ingot_chassis.testing.service import count_statements
from ingot_repos.git.refs import set_ref

from .code_world import opened, repository_with_history
from .git_builders import commit

T = "/api/v1/repos/ann/app/tags"


@pytest.fixture
async def app(world, ann):
    return await repository_with_history(world, ann)


async def test_tags_are_listed_newest_first(ann, app):
    answer = await ann.get("/repos/ann/app/tags")
    assert answer.headers["x-total-count"] == "2"
    annotated, light = answer.json()
    assert annotated == {
        "name": "v1.0",
        "message": "version one",
        "id": app["tag"],
        "commit": {
            "url": f"http://ingot.test/api/v1/repos/ann/app/git/commits/{app['second']}",
            "sha": app["second"],
            "created": "2020-02-02T22:35:06Z",
        },
        "zipball_url": "http://ingot.test/ann/app/archive/v1.0.zip",
        "tarball_url": "http://ingot.test/ann/app/archive/v1.0.tar.gz",
    }
    for url in (annotated["zipball_url"], annotated["tarball_url"]):
        assert (await ann.call("GET", url.removeprefix("http://ingot.test"))).status_code == 200
    assert (light["name"], light["id"], light["message"]) == ("light", app["first"], "first")
    second = await ann.get("/repos/ann/app/tags?limit=1&page=2")
    assert [one["name"] for one in second.json()] == ["light"]


async def test_one_tag_and_its_object(world, ann, app):
    assert (await ann.get("/repos/ann/app/tags/v1.0")).json()["commit"]["sha"] == app["second"]
    for name in ("none", "master", "v1.0/x", "%FF", "-x", "a%2F..%2Fv1.0", "x" * 3000):
        assert (await ann.get(f"/repos/ann/app/tags/{name}")).status_code == 404, name
    shown = (await ann.get(f"/repos/ann/app/git/tags/{app['tag']}")).json()
    assert (shown["tag"], shown["message"], shown["object"]["sha"], shown["object"]["type"]) == (
        "v1.0", "version one\n", app["second"], "commit",
    )  # fmt: skip
    assert shown["tagger"] == {"name": "Tagger", "email": "ann@example.org", "date": "2020-09-13T12:26:40Z"}
    opened(world, app["id"]).references.delete("refs/tags/v1.0")
    for sha in (app["tag"], app["first"], "0" * 40, "v1.0", "--all"):
        assert (await ann.get(f"/repos/ann/app/git/tags/{sha}")).status_code == 404, sha


async def test_a_tag_is_created_and_deleted_like_by_a_push(world, ann, app):
    answer = await ann.call("POST", T, {"tag_name": "rel/2", "target": "feature/side"})
    assert answer.status_code == 201, answer.text
    assert answer.json()["id"] == answer.json()["commit"]["sha"] == app["side"]
    event = (await world.events("push"))[-1]
    assert (event["ref"], event["after"]) == ("refs/tags/rel/2", app["side"])
    body = {"tag_name": "v2", "message": "two\n\nmore", "target": app["second"]}
    annotated = (await ann.call("POST", T, body)).json()
    assert (annotated["message"], annotated["commit"]["sha"]) == ("two\n\nmore", app["second"])
    shown = (await ann.get(f"/repos/ann/app/git/tags/{annotated['id']}")).json()
    assert (shown["tagger"]["name"], shown["tagger"]["email"]) == ("Ann", "ann@example.org")
    default = (await ann.call("POST", T, {"tag_name": "v3"})).json()
    assert default["commit"]["sha"] == app["third"]
    assert (await ann.call("DELETE", f"{T}/rel/2")).status_code == 204
    assert (await ann.call("DELETE", f"{T}/rel/2")).status_code == 404
    event = (await world.events("push"))[-1]
    assert (event["ref"], event["before"], event["after"]) == ("refs/tags/rel/2", app["side"], "0" * 40)


async def test_tags_that_cannot_be(world, ann, app):
    for body, status in [
        ({"tag_name": "v1.0"}, 409),
        ({"tag_name": "v1.0/x"}, 409),
        ({"tag_name": ""}, 422),
        ({}, 422),
        ({"tag_name": "-x"}, 422),
        ({"tag_name": "a..b"}, 422),
        ({"tag_name": "x" * 256}, 422),
        ({"tag_name": "x", "target": "none"}, 404),
        ({"tag_name": "x", "target": "1" * 40}, 404),
        ({"tag_name": "x", "message": "m" * 70_000}, 422),
    ]:
        answer = await ann.call("POST", T, body)
        assert answer.status_code in (status, 400 if body == {} else status), (body, answer.text)
    assert len(await world.events("push")) == 4


async def test_a_tag_of_a_release_stays(ann, app):
    release = await ann.call("POST", "/api/v1/repos/ann/app/releases", {"tag_name": "v1.0"})
    assert release.status_code == 201, release.text
    assert (await ann.call("DELETE", f"{T}/v1.0")).status_code == 409
    await ann.call("DELETE", f"/api/v1/repos/ann/app/releases/{release.json()['id']}")
    assert (await ann.call("DELETE", f"{T}/v1.0")).status_code == 204


async def test_who_may_tag(world, ann, bob):
    await repository_with_history(world, ann)
    for number, (person, status) in enumerate([
        (world.user(0, ""), 401), (bob, 403), (ann.but(restricted_to=[99]), 403),
        (ann.but(scopes=["read:repository"]), 403), (ann, 201),
    ]):  # fmt: skip
        assert (await person.call("POST", T, {"tag_name": f"t{number}"})).status_code == status
        deleted = await person.call("DELETE", f"{T}/light")
        assert deleted.status_code == (204 if status == 201 else status)
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": True})
    assert (await ann.call("POST", T, {"tag_name": "late"})).status_code == 403
    assert (await ann.call("DELETE", f"{T}/v1.0")).status_code == 403
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": False, "private": True})
    for path in (T, f"{T}/v1.0"):
        assert (await bob.call("GET", path)).status_code == 404


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_page_of_tags_is_one_statement_and_tags_of_no_commit_are_left_out(world, ann, app, git_log):
    repo = opened(world, app["id"])
    for number in range(120):
        set_ref(repo, f"refs/tags/n{number:03}", app["first"])
    set_ref(repo, "refs/tags/tree", str(repo[commit(repo, {"a": b"1"})].tree_id))
    git_log.clear()
    with count_statements(world.database) as statements:
        answer = await ann.get("/repos/ann/app/tags?limit=50")
    assert (len(answer.json()), answer.headers["x-total-count"]) == (50, "122")
    assert len(statements) == 1
    assert list(git_log) == []
    assert (await ann.get("/repos/ann/app/tags/tree")).status_code == 404
