"""Topics of repositories and the search for them."""

import asyncio

import pytest

from ingot_testing.service import count_statements

pytestmark = pytest.mark.both_databases

T = "/api/v1/repos/ann/app/topics"


async def names(person, path="/repos/ann/app/topics"):
    return (await person.get(path)).json()["topics"]


async def test_topics_are_replaced_added_and_removed(ann):
    await ann.create("app")
    assert await names(ann) == []
    assert (await ann.call("PUT", T, {"topics": ["Web", " api ", "web", "c-1.2"]})).status_code == 204
    assert await names(ann) == ["api", "c-1.2", "web"]
    assert (await ann.call("PUT", f"{T}/NEW")).status_code == 204
    assert (await ann.call("PUT", f"{T}/new")).status_code == 204
    assert (await ann.call("DELETE", f"{T}/api")).status_code == 204
    assert (await ann.call("DELETE", f"{T}/api")).status_code == 404
    answer = await ann.get("/repos/ann/app/topics?limit=2")
    assert (answer.json()["topics"], answer.headers["x-total-count"]) == (["c-1.2", "new"], "3")
    assert (await ann.call("PUT", T, {})).status_code == 204
    assert await names(ann) == []


async def test_topics_that_cannot_be(ann):
    await ann.create("app")
    for body in (
        {"topics": ["ok", "-x"]}, {"topics": ["a b"]}, {"topics": [""]}, {"topics": ["x" * 36]},
        {"topics": ["ü"]},
        {"topics": ["x\u0000"]}, {"topics": [f"t{n}" for n in range(26)]}, {"topics": "x"}, {"topics": [1]},
    ):  # fmt: skip
        answer = await ann.call("PUT", T, body)
        assert answer.status_code == 422, (body, answer.text)
        assert answer.json()["errors"][0]["field"].startswith("topics"), body
    assert (await ann.call("PUT", f"{T}/a%20b")).status_code == 422
    assert await names(ann) == []
    assert (await ann.call("PUT", T, {"topics": [f"t{n}" for n in range(25)]})).status_code == 204
    assert (await ann.call("PUT", f"{T}/one-more")).status_code == 422


async def test_topics_that_are_added_at_once_are_all_there(ann):
    await ann.create("app")
    answers = await asyncio.gather(*(ann.call("PUT", f"{T}/t{n}") for n in range(6)))
    assert {answer.status_code for answer in answers} == {204}
    assert await names(ann) == [f"t{n}" for n in range(6)]


async def test_who_may_change_topics(world, ann, bob):
    await ann.create("app")
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    for person, status in (
        (world.user(0, ""), 401),
        (bob, 403),
        (ann.but(restricted_to=[99]), 403),
        (ann, 204),
    ):
        assert (await person.call("PUT", T, {"topics": ["x"]})).status_code == status
        assert (await person.call("PUT", f"{T}/y")).status_code == status
        assert (await person.call("DELETE", f"{T}/y")).status_code == status
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    cleo = world.user(3, "cleo")
    assert (await cleo.get("/repos/ann/app/topics")).status_code == 404
    assert (await cleo.call("PUT", T, {"topics": []})).status_code == 404


async def test_the_search_counts_only_what_the_caller_may_see(world, ann, bob):
    await ann.create("app")
    await ann.create("hidden", private=True)
    await ann.call("PUT", T, {"topics": ["web", "python", "100%"[:3]]})
    await ann.call("PUT", "/api/v1/repos/ann/hidden/topics", {"topics": ["web", "secret-plan"]})
    for person, expected in (
        (ann, {"web": 2, "secret-plan": 1}),
        (bob, {"web": 1}),
        (world.user(0, ""), {"web": 1}),
    ):
        shown = (await person.get("/topics/search?q=e")).json()["topics"]
        assert {one["topic_name"]: one["repo_count"] for one in shown} == expected
    assert [one["topic_name"] for one in (await ann.get("/topics/search?q=WEB")).json()["topics"]] == ["web"]
    for text in ("%25", "_", "\\", "%00", "'"):
        assert (await ann.get(f"/topics/search?q={text}")).status_code in (200, 422)
    assert (await ann.get("/topics/search?q=%25")).json()["topics"] == []
    page = await ann.get("/topics/search?limit=1&page=2")
    assert (len(page.json()["topics"]), page.headers["x-total-count"]) == (1, "4")


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_lists_of_topics_are_a_fixed_number_of_statements(world, ann):
    await ann.create("app")
    for count in (1, 20):
        body = {"topics": [f"t{n}" for n in range(count)]}
        with count_statements(world.database) as statements:
            assert (await ann.call("PUT", T, body)).status_code == 204
        assert len(statements) <= 8
        with count_statements(world.database) as statements:
            assert len(await names(ann)) == count
            assert len((await ann.get("/topics/search")).json()["topics"]) == count
        assert len(statements) == 3
