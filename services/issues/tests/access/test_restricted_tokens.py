"""Tokens that are restricted to some repositories."""

import pytest

from ..builders import APP, FORK, new_commit, push, repository


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
async def test_a_token_restricted_to_other_repositories_reads_and_changes_nothing(world, method, path, body):
    await world.open_issue(as_=3)
    for named in (FORK, APP):
        answer = await world.call(method, path, body, restricted_to=[named])
        assert answer.is_success if named == APP else answer.status_code == 403, answer.text
        assert (await world.call("GET", "/issues/1", restricted_to=[named])).status_code == 200


async def test_a_restricted_token_lists_the_times_of_its_repositories(world):
    await world.open_issue(as_=3)
    await world.call("POST", "/issues/1/times", {"time": 60})
    for named, times in ((FORK, 0), (APP, 1)):
        answer = await world.call("GET", "//user/times", restricted_to=[named])
        assert (len(answer.json()), answer.headers["x-total-count"]) == (times, str(times))


async def test_a_restricted_token_has_no_effect_in_other_repositories(world):
    world.add_library()
    world.repos.levels[(9, 2)] = "owner"
    await world.open_issue()
    await world.call("POST", "//repos/ann/lib/issues", {"title": "x"})
    commits = [new_commit("e" * 40, "closes #1, closes ann/lib#1")]
    await world.deliver(push(commits=commits, total_commits=1, restricted=True))
    body = {"body": "see ann/lib#1"}
    written = await world.call("POST", "/issues/1/comments", body, restricted_to=[repository().id])
    assert written.status_code == 201
    await world.workers.step()
    assert (await world.call("GET", "/issues/1")).json()["state"] == "closed"
    other = await world.call("GET", "//repos/ann/lib/issues/1")
    assert other.json()["state"] == "open"
    assert (await world.call("GET", "//repos/ann/lib/issues/1/timeline")).json() == []
