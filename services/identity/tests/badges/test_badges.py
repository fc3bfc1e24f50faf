"""Badges that administrators give to users."""

import pytest

BADGES = "/admin/users/ann/badges"


async def slugs(world, path=BADGES):
    answer = await world.call("GET", path, as_="root")
    assert answer.headers["x-total-count"] == str(len(answer.json()))
    return [badge["slug"] for badge in answer.json()]


async def test_badges_are_given_and_taken(world):
    for name in ("ann", "bob"):
        await world.add_user(name)
    assert await slugs(world) == []
    for name in ("ann", "ann", "bob"):
        body = {"badge_slugs": ["mentor", "early.bird"]}
        answer = await world.call("POST", f"/admin/users/{name}/badges", body, as_="root")
        assert (answer.status_code, answer.content) == (204, b"")
    assert await slugs(world) == ["early.bird", "mentor"]
    body = {"badge_slugs": ["mentor", "nothing"]}
    assert (await world.call("DELETE", BADGES, body, as_="root")).status_code == 204
    assert await slugs(world) == ["early.bird"]
    assert await slugs(world, "/admin/users/bob/badges") == ["early.bird", "mentor"]
    shown = (await world.call("GET", BADGES, as_="root")).json()[0]
    assert set(shown) == {"id", "slug", "description", "image_url"}


async def test_a_request_without_slugs_changes_nothing(world):
    await world.add_user("ann")
    for method in ("POST", "DELETE"):
        assert (await world.call(method, BADGES, {}, as_="root")).status_code == 204
    assert await slugs(world) == []


@pytest.mark.parametrize("slug", ["", "-x", "a b", "x" * 41, "\u00fc", "a/b"])
async def test_a_slug_that_cannot_be_is_refused(world, slug):
    await world.add_user("ann")
    answer = await world.call("POST", BADGES, {"badge_slugs": ["good", slug]}, as_="root")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "badge_slugs")
    assert await slugs(world) == []


async def test_only_administrators_see_and_give_badges(world):
    await world.add_user("ann")
    for method, body in (("GET", None), ("POST", {"badge_slugs": ["x"]}), ("DELETE", {"badge_slugs": ["x"]})):
        assert (await world.call(method, BADGES, body, as_="ann")).status_code == 403
    assert (await world.call("GET", "/admin/users/nobody/badges", as_="root")).status_code == 404
