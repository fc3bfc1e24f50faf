"""References from issues, comments and pull requests, for those who may see them."""

import pytest

from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.events import RepositoryDeleted, RepositoryEdited

from ..builders import repository


async def test_issues_comments_and_pull_requests_refer_to_issues(world):
    await world.open_issue("target")
    await world.open_issue("see #1", body="and #1, and ann/app#1")
    await world.call("POST", "/issues/2/comments", {"body": "as in #1"}, as_=3)
    await world.propose(title="about #1")
    from_issue, from_comment, from_pull = await world.timeline()
    assert [row["type"] for row in (from_issue, from_comment, from_pull)] == [
        "issue_ref",
        "comment_ref",
        "pull_ref",
    ]
    assert (from_issue["ref_issue"]["number"], from_issue["ref_action"]) == (2, "none")
    assert (from_comment["ref_comment"]["body"], from_comment["user"]["login"]) == ("as in #1", "cat")
    assert from_pull["ref_issue"]["pull_request"] is not None
    assert await world.kinds(2) == ["comment"]


@pytest.mark.parametrize(
    "text", ["`#1`", "```\n#1\n```", "[#1](http://x)", "a#1", "##1", "#01", "#1x", "#99", "#2", "http://x/#1"]
)
async def test_other_text_adds_no_reference(world, text):
    await world.open_issue()
    await world.open_issue("other", body=text)
    assert await world.kinds() == []


async def test_an_edit_adds_the_new_references(world):
    for n in range(3):
        await world.open_issue(f"number {n}")
    await world.call("PATCH", "/issues/3", {"body": "#1"})
    await world.call("PATCH", "/issues/3", {"body": "#1 #2"})
    comment = (await world.call("POST", "/issues/3/comments", {"body": "nothing"})).json()
    await world.call("PATCH", f"/issues/comments/{comment['id']}", {"body": "#2"})
    assert await world.kinds(1) == ["issue_ref"]
    assert await world.kinds(2) == ["issue_ref", "comment_ref"]
    await world.call("DELETE", f"/issues/comments/{comment['id']}")
    assert await world.kinds(2) == ["issue_ref"]


async def test_a_text_refers_to_fifty_issues_at_most(world):
    for n in range(3):
        await world.open_issue(f"number {n}")
    many = " ".join(f"#{n}" for n in range(100, 149))
    await world.open_issue("many", body=f"{many} #1 #2")
    assert (await world.kinds(1), await world.kinds(2)) == (["issue_ref"], [])


async def test_a_reference_to_another_repository_needs_read_access_there(world):
    world.add_library(private=True)
    await world.open_issue()
    for as_ in (3, 2):
        body = {"title": "see ann/lib#1"}
        assert (await world.call("POST", "//repos/ann/lib/issues", body, as_=1)).status_code == 201
        await world.call("POST", "/issues", {"title": "x", "body": "Fixes ann/lib#1"}, as_=as_)
    await world.workers.step()
    rows = (await world.call("GET", "//repos/ann/lib/issues/1/timeline")).json()
    own, *others = rows
    assert [row["type"] for row in rows].count("issue_ref") == len(rows)
    assert [row["user"]["login"] for row in others] == ["bob"]
    assert (others[0]["ref_issue"]["url"].split("/repos/")[1], others[0]["ref_action"]) == (
        "ann/app/issues/3",
        "closes",
    )
    assert (await world.call("GET", "//repos/ann/lib/issues/1")).json()["state"] == "open"
    assert own["ref_issue"]["number"] == 2


@pytest.mark.parametrize("kind", ["issue", "comment"])
@pytest.mark.parametrize(("level", "count"), [(None, 0), ("read", 1)])
async def test_an_edit_does_not_lend_its_rights_to_the_references_of_others(world, kind, level, count):
    """Dan writes, and Ann, who may read ann/lib, corrects that."""
    world.repos.add(repository(9, name="lib", private=True), {4: level} if level else {})
    await world.call("POST", "//repos/ann/lib/issues", {"title": "secret"})
    text = "see ann/lib#1"
    if kind == "issue":
        await world.open_issue("tpyo", as_=4, body=text)
        edited = await world.call("PATCH", "/issues/1", {"title": "typo"})
    else:
        await world.open_issue()
        comment = await world.create("/issues/1/comments", {"body": text}, as_=4)
        edited = await world.call("PATCH", f"/issues/comments/{comment['id']}", {"body": f"{text}."})
    assert edited.status_code in (200, 201)
    await world.work()
    rows = (await world.call("GET", "//repos/ann/lib/issues/1/timeline")).json()
    assert len(rows) == count


async def test_a_reference_from_a_private_repository_is_for_its_readers(world):
    world.add_library(private=True)
    await world.open_issue()
    await world.call("POST", "//repos/ann/lib/issues", {"title": "ann/app#1 leaks"})
    await world.workers.step()
    for as_, kinds in {1: ["issue_ref"], 2: ["issue_ref"], 3: [], 0: []}.items():
        assert await world.kinds(as_=as_) == kinds
        ids = (await world.call("GET", "/issues/1/timeline/ids", as_=as_)).json()
        assert ids == [row["id"] for row in await world.timeline(as_=as_)]
    world.repos.repositories[9] = repository(9, name="lib")
    assert await world.kinds(as_=0) == ["issue_ref"]
    await world.deliver(
        RepositoryEdited(repository=repository(9, name="tool"), sender=User(id=1, login="ann"))
    )
    assert (await world.timeline())[0]["ref_issue"]["html_url"].endswith("/ann/tool/issues/1")
    await world.deliver(
        RepositoryDeleted(repository=repository(9, name="tool"), sender=User(id=1, login="ann"))
    )
    assert await world.kinds() == []


async def test_a_reference_hides_a_pull_request_where_the_unit_is_off(world):
    await world.open_issue()
    await world.propose(title="secret, see #1")
    world.repos.repositories[7] = repository(has_pull_requests=False)
    (row,) = await world.timeline()
    assert (row["type"], row["ref_issue"]) == ("pull_ref", None)


@pytest.mark.parametrize("unit", ["has_issues", "has_pull_requests"])
async def test_a_reference_hides_an_issue_of_another_repository_where_its_unit_is_off(world, unit):
    world.add_library()
    await world.open_issue()
    body = {"title": "secret, see ann/app#1", "head": "fix", "base": "main"}
    for kind in ("issues", "pulls"):
        assert (await world.call("POST", f"//repos/ann/lib/{kind}", body)).status_code == 201
    await world.workers.step()
    off = repository(9, name="lib", **{unit: False})
    await world.deliver(RepositoryEdited(repository=off, sender=User(id=1, login="ann")))
    references = {row["type"]: row["ref_issue"] for row in await world.timeline()}
    hidden, shown = ("issue_ref", "pull_ref") if unit == "has_issues" else ("pull_ref", "issue_ref")
    assert (references[hidden], references[shown]["title"]) == (None, body["title"])
