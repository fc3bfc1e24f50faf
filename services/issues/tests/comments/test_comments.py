"""Comments, below both spellings of the paths."""

import pytest


@pytest.mark.parametrize("issues", ["issue", "issues"])
async def test_comments_are_written_listed_changed_and_deleted(world, issues):
    await world.open_issue(as_=3)
    written = await world.call("POST", f"/{issues}/1/comments", {"body": "me too"}, as_=4)
    assert written.status_code == 201
    comment = written.json()
    assert comment["issue_url"].endswith("/ann/app/issues/1")
    assert comment["html_url"].endswith(f"#issuecomment-{comment['id']}")
    assert len((await world.call("GET", f"/{issues}/1/comments", as_=0)).json()) == 1
    assert (await world.call("GET", "/issues/1")).json()["comments"] == 1
    one = f"/issues/comments/{comment['id']}"
    assert (await world.call("PATCH", one, {"body": "no"}, as_=2)).status_code == 403
    assert (await world.call("PATCH", one, {"body": "yes"}, as_=4)).json()["body"] == "yes"
    below = f"/{issues}/1/comments/{comment['id']}"
    assert (await world.call("PATCH", below, {"body": "so"}, as_=1)).json()["body"] == "so"
    assert (await world.call("DELETE", below, as_=4)).status_code == 204
    assert (await world.call("DELETE", one, as_=4)).status_code == 404
    assert (await world.call("GET", "/issues/1")).json()["comments"] == 0
    actions = await world.actions("comment")
    assert actions == ["created", "edited", "edited", "deleted"]


@pytest.mark.parametrize("name", ["since", "string"])
async def test_comments_are_filtered_by_time(world, name):
    await world.open_issue(as_=3)
    await world.call("POST", "/issues/1/comments", {"body": "me too"})
    for path in ("/issues/comments", "/issue/1/comments"):
        for moment, count in {"2000-01-01T00:00:00Z": 1, "2999-01-01T00:00:00Z": 0, "rubbish": 1}.items():
            assert len((await world.call("GET", f"{path}?{name}={moment}")).json()) == count


async def test_other_rows_of_the_timeline_are_no_comments_and_stay(world):
    await world.open_issue(as_=3)
    await world.call("PATCH", "/issues/1", {"state": "closed"})
    assert (await world.call("GET", "/issues/1/comments")).json() == []
    assert (await world.call("DELETE", "/issues/comments/1")).status_code == 204
    assert (await world.call("PATCH", "/issues/comments/1", {"body": "x"})).status_code == 204


async def test_comments_of_unknown_issues_are_not_found(world):
    assert (await world.call("POST", "/issues/9/comments", {"body": "x"})).status_code == 404
    assert (await world.call("GET", "/issue/9/comments")).status_code == 404


@pytest.mark.parametrize("fork", [True, False])
async def test_a_comment_on_a_pull_request_announces_what_its_issue_lacks(world, fork):
    """The repository of the event is not repeated."""
    await (world.propose(head="dan:fix", as_=4) if fork else world.propose())
    shown = (await world.call("GET", "/pulls/1", as_=3)).json()
    await world.create("/issues/1/comments", {"body": "hm"})
    [event] = await world.payloads("issues.comment.changed.v1")
    part = event["pull_request"]
    assert part["id"] == shown["id"] != 0
    assert (part["url"], part["merge_base"], part["draft"]) == (shown["url"], shown["merge_base"], False)
    assert part["base"] == {name: shown["base"][name] for name in ("label", "ref", "sha", "repo_id")}
    assert (part["head"]["sha"], part["head"]["repo_id"]) == (shown["head"]["sha"], shown["head"]["repo_id"])
    assert (part["head"]["repo"] is not None) == fork
    assert not {"title", "body", "labels"} & set(part)
