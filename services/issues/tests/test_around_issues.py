"""Comments, labels, milestones and times, below both spellings of the paths."""

from typing import Any

import pytest

from ingot_contracts.identity import UserDeleted, UserEdited

from .builders import APP, FORK, account, repository
from .conftest import World


async def opened(world: World) -> None:
    assert (await world.call("POST", "/issues", {"title": "It burns"}, as_=3)).status_code == 201


async def label(world: World, name: str, color: str = "#ee0000") -> dict[str, Any]:
    return (await world.call("POST", "/labels", {"name": name, "color": color})).json()


@pytest.mark.parametrize("issues", ["issue", "issues"])
async def test_labels_of_an_issue_are_put_replaced_and_taken_off(world: World, issues: str) -> None:
    await opened(world)
    bug, ui = await label(world, "bug"), await label(world, "UI")
    path = f"/{issues}/1/labels"
    put = await world.call("POST", path, {"labels": [ui["id"], bug["id"], 999]})
    assert (put.status_code, [found["name"] for found in put.json()]) == (200, ["bug", "UI"])
    replaced = await world.call("PUT", path, {"labels": [ui["id"]]})
    assert [found["name"] for found in replaced.json()] == ["UI"]
    assert (await world.call("GET", path, as_=0)).json() == replaced.json()
    assert (await world.call("DELETE", f"{path}/{bug['id']}")).status_code == 204
    assert (await world.call("DELETE", f"{path}/999")).status_code == 422
    assert (await world.call("DELETE", path)).status_code == 204
    assert (await world.call("GET", path)).json() == []
    told = [told["action"] for told in await world.events("issues.issue.changed.v1")]
    assert told == ["opened", "label_updated", "label_updated", "label_cleared"]


@pytest.mark.parametrize(("sent", "kept"), [("#Ff00aa", "ff00aa"), ("ff00aa", "ff00aa"), ("#f0a", "ff00aa")])
async def test_colours_come_with_or_without_a_hash(world: World, sent: str, kept: str) -> None:
    assert (await label(world, "bug", sent))["color"] == kept


async def test_labels_are_changed_found_by_name_and_deleted(world: World) -> None:
    made = await label(world, "bug")
    changed = await world.call("PATCH", f"/labels/{made['id']}", {"name": "fire"})
    assert changed.json() == made | {"name": "fire"}
    assert (await world.call("GET", "/labels/fire")).json()["id"] == made["id"]
    assert (await world.call("GET", f"/labels/{made['id']}")).json()["name"] == "fire"
    for _ in range(2):
        assert (await world.call("DELETE", f"/labels/{made['id']}")).status_code == 204
    assert (await world.call("GET", "/labels")).json() == []


@pytest.mark.parametrize("issues", ["issue", "issues"])
async def test_comments_are_written_listed_changed_and_deleted(world: World, issues: str) -> None:
    await opened(world)
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
    told = [told["action"] for told in await world.events("issues.comment.changed.v1")]
    assert told == ["created", "edited", "edited", "deleted"]


@pytest.mark.parametrize("name", ["since", "string"])
async def test_comments_are_filtered_by_time(world: World, name: str) -> None:
    await opened(world)
    await world.call("POST", "/issues/1/comments", {"body": "me too"})
    for path in ("/issues/comments", "/issue/1/comments"):
        for moment, count in {"2000-01-01T00:00:00Z": 1, "2999-01-01T00:00:00Z": 0, "rubbish": 1}.items():
            assert len((await world.call("GET", f"{path}?{name}={moment}")).json()) == count


async def test_what_happened_is_no_comment_and_stays(world: World) -> None:
    await opened(world)
    await world.call("PATCH", "/issues/1", {"state": "closed"})
    assert (await world.call("GET", "/issues/1/comments")).json() == []
    assert (await world.call("DELETE", "/issues/comments/1")).status_code == 204
    assert (await world.call("PATCH", "/issues/comments/1", {"body": "x"})).status_code == 204


async def test_comments_of_unknown_issues_are_not_found(world: World) -> None:
    assert (await world.call("POST", "/issues/9/comments", {"body": "x"})).status_code == 404
    assert (await world.call("GET", "/issue/9/comments")).status_code == 404


async def test_milestones_count_their_issues(world: World) -> None:
    made = await world.call("POST", "/milestones", {"title": "one", "due_on": "2030-01-01T00:00:00+02:00"})
    assert made.status_code == 201
    assert made.json()["due_on"] == "2029-12-31T22:00:00Z"
    one = f"/milestones/{made.json()['id']}"
    for closed in (True, False, False):
        await world.call("POST", "/issues", {"title": "x", "milestone": made.json()["id"], "closed": closed})
    shown = (await world.call("GET", one)).json()
    assert (shown["open_issues"], shown["closed_issues"]) == (2, 1)
    closed = (await world.call("PATCH", one, {"state": "closed", "title": ""})).json()
    assert (closed["title"], closed["state"], closed["closed_at"] is None) == ("one", "closed", False)
    assert len((await world.call("GET", "/milestones")).json()) == 1
    assert (await world.call("DELETE", one)).status_code == 204
    assert (await world.call("GET", "/issues/2")).json()["milestone"] is None


async def test_a_milestone_is_put_on_and_taken_off(world: World) -> None:
    await opened(world)
    made = (await world.call("POST", "/milestones", {"title": "one"})).json()["id"]
    put = await world.call("PATCH", "/issues/1", {"milestone": made})
    assert put.json()["milestone"]["title"] == "one"
    assert (await world.call("PATCH", "/issues/1", {"milestone": 0})).json()["milestone"] is None
    assert (await world.call("PATCH", "/issues/1", {"milestone": 999})).status_code == 422
    told = [told["action"] for told in await world.events("issues.issue.changed.v1")]
    assert told == ["opened", "milestoned", "demilestoned"]


async def test_time_is_tracked_by_contributors(world: World) -> None:
    await opened(world)
    assert (await world.call("POST", "/issues/1/times", {"time": 60}, as_=4)).status_code == 403
    added = await world.call("POST", "/issues/1/times", {"time": 60}, as_=3)
    assert (added.status_code, added.json()["time"], added.json()["user_id"]) == (200, 60, 3)
    assert (await world.call("POST", "/issues/1/times", {"time": 0})).status_code == 422
    for path in ("/issues/1/times", "/times", "/times/cat", "//user/times"):
        assert len((await world.call("GET", path, as_=3)).json()) == 1, path


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/issues", {"title": "x"}),
        ("PATCH", "/issues/1", {"title": "x"}),
        ("POST", "/issues/1/comments", {"body": "x"}),
        ("POST", "/issues/1/times", {"time": 60}),
        ("POST", "/labels", {"name": "x", "color": "#ffffff"}),
    ],
)
async def test_a_token_restricted_to_other_repositories_reads_and_changes_nothing(
    world: World, method: str, path: str, body: dict[str, object]
) -> None:
    await opened(world)
    for named in (FORK, APP):
        headers = {"ingot-principal": world.identity.statement(1, confined_to=[named])}
        whole = f"/api/v1/repos/ann/app{path}"
        answer = await world.http.request(method, whole, json=body, headers=headers)
        assert answer.is_success if named == APP else answer.status_code == 403, answer.text
        assert (await world.http.get("/api/v1/repos/ann/app/issues/1", headers=headers)).status_code == 200


async def test_own_times_are_those_in_repositories_that_may_still_be_read(world: World) -> None:
    for number, name in ((9, "open"), (10, "left")):
        world.repos.repositories[number] = repository(number, name=name, private=True)
        world.repos.levels[(number, 2)] = "write"
        await world.call("POST", f"//repos/ann/{name}/issues", {"title": "x"}, as_=2)
        for _ in range(number):
            await world.call("POST", f"//repos/ann/{name}/issues/1/times", {"time": 60}, as_=2)
    assert (await world.call("GET", "//user/times", as_=2)).headers["x-total-count"] == "19"
    del world.repos.levels[(10, 2)]
    with world.statements() as counted:
        answer = await world.call("GET", "//user/times?limit=5", as_=2)
    assert (len(answer.json()), answer.headers["x-total-count"], len(counted)) == (5, "9", 3)
    assert world.repos.asked[-1] == "seen"
    del world.repos.levels[(9, 2)]
    answer = await world.call("GET", "//user/times", as_=2)
    assert (answer.json(), answer.headers["x-total-count"]) == ([], "0")


async def test_a_restricted_token_lists_the_times_of_its_repositories(world: World) -> None:
    await opened(world)
    await world.call("POST", "/issues/1/times", {"time": 60})
    for named, times in ((FORK, 0), (APP, 1)):
        headers = {"ingot-principal": world.identity.statement(1, confined_to=[named])}
        answer = await world.http.get("/api/v1/user/times", headers=headers)
        assert (len(answer.json()), answer.headers["x-total-count"]) == (times, str(times))


async def test_a_renamed_author_is_shown_with_the_new_name_and_a_deleted_one_as_the_ghost(
    world: World,
) -> None:
    await opened(world)
    await world.hear(UserEdited(account=account(3, login="kit"), previous_login="cat"))
    assert (await world.call("GET", "/issues/1")).json()["user"]["login"] == "kit"
    await world.hear(UserDeleted(user_id=3, login="kit"))
    assert (await world.call("GET", "/issues/1")).json()["user"]["id"] == -1


async def test_labels_milestones_and_times_are_told_as_they_are_seen(world: World) -> None:
    await opened(world)
    bug = await label(world, "bug")
    made = (await world.call("POST", "/milestones", {"title": "one"})).json()
    for path, change in (("labels", {"name": "Bug"}), ("milestones", {"state": "closed"})):
        for _ in range(2):  # the second changes nothing
            edited = await world.call("PATCH", f"/{path}/1", change)
        assert edited.status_code == 200
    time = (await world.call("POST", "/issues/1/times", {"time": 60})).json()
    for _ in range(2):
        assert (await world.call("DELETE", "/labels/1")).status_code == 204
        assert (await world.call("DELETE", "/milestones/1")).status_code == 204
    told = [event for event in await world.events() if event["type"] != "issues.issue.changed.v1"]
    assert {(event["repository"]["full_name"], event["sender"]["login"]) for event in told} == {
        ("ann/app", "ann")
    }
    shown = [
        (event["action"], event.get("label") or event.get("milestone") or event["time"]) for event in told
    ]
    closed = edited.json()
    assert shown == [
        ("created", bug),
        ("created", made),
        ("edited", bug | {"name": "Bug"}),
        ("edited", closed),
        ("created", time),
        ("deleted", bug | {"name": "Bug"}),
        ("deleted", closed),
    ]
    assert (closed["state"], bug["id"], made["id"], time["time"]) == ("closed", 1, 1, 60)
