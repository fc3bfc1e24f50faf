"""Two heads of a pull request for web. Bob (2) opens it, everybody may read the repository."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_contracts.issues.head_comparisons import MOST_HEADS, HeadVersion
from ingot_contracts.repos.range_diffs import CommitPair
from ingot_issues.pulls.rules.heads import heads_of

from ..builders import APP, BASE, HEAD, JOINED, NEXT, comparison, push, repository

MOMENT = datetime(2026, 1, 2, tzinfo=UTC)
WEB = SigningKey.generate()
PAIR = CommitPair(state="changed", old=HEAD, new=NEXT, title="a commit", difference="@@ f")


@pytest.fixture
def settings(settings):
    return settings | {"public_keys": {"web": WEB.x}}


@pytest.fixture
async def force_push(world):
    """Pull request 1, whose head a force push moved from HEAD to NEXT."""
    await world.propose()
    await move(world, NEXT)
    world.repos.pairs = [PAIR]
    world.repos.calls.clear()


async def move(world, sha):
    world.repos.comparison = comparison(head_sha=sha)
    await world.deliver(push("refs/heads/fix", after=sha))
    await world.work()


async def ask(world, old, new, *, as_=0, number=1):
    headers = {SERVICE_HEADER: ServiceIdentity("web", WEB).token("issues")} | world.headers(as_)
    path = f"/internal/repos/ann/app/pulls/{number}/range-diff?old={old}&new={new}"
    return await world.http.get(path, headers=headers)


def questions(world):
    return [call.query for call in world.repos.calls if call.operation == "range-diff"]


@pytest.mark.usefixtures("force_push")
async def test_heads_before_and_after_a_push_are_compared(world):
    answer = await ask(world, HEAD, NEXT.upper())
    assert answer.status_code == 200, answer.text
    [pair] = answer.json()["comparison"]["pairs"]
    assert (pair["state"], pair["title"], pair["difference"]) == ("changed", "a commit", "@@ f")
    assert questions(world) == [f"old={HEAD}&new={NEXT}&base={BASE}&base_tip={BASE}"]


@pytest.mark.usefixtures("force_push")
async def test_any_two_heads_are_compared_in_any_order(world):
    await move(world, JOINED)
    for old, new in ((HEAD, JOINED), (NEXT, HEAD), (JOINED, JOINED)):
        assert (await ask(world, old, new)).status_code == 200
    await world.call("PATCH", "/pulls/1", {"state": "closed"})
    assert (await ask(world, HEAD, NEXT)).status_code == 200


@pytest.mark.usefixtures("force_push")
async def test_the_heads_that_can_be_compared_are_listed(world):
    await move(world, JOINED)
    await move(world, HEAD)
    answer = (await ask(world, "", "")).json()
    heads = [(head["sha"], head["created_at"] is None) for head in answer["heads"]]
    assert (heads, answer["comparison"]) == ([(NEXT, False), (JOINED, False), (HEAD, False)], None)
    world.repos.branches[APP, "other"] = HEAD
    await world.propose(head="other")
    [head] = (await ask(world, "", "", number=2)).json()["heads"]
    assert (head, questions(world)) == ({"sha": HEAD, "created_at": None}, [])


def test_only_the_latest_heads_are_listed():
    pushes = [
        SimpleNamespace(details=f'{{"old_ref": "{number}", "new_ref": "{number + 1}"}}', created_at=MOMENT)
        for number in range(MOST_HEADS + 5)
    ]
    heads = heads_of(pushes, str(MOST_HEADS + 5))
    assert (len(heads), heads[0].sha, heads[-1].sha) == (MOST_HEADS, "6", str(MOST_HEADS + 5))
    first, last = heads_of(pushes[:1], "1")
    assert (first.sha, first.created_at, last.sha, last.created_at) == ("0", None, "1", MOMENT)
    assert heads_of([], "x") == [HeadVersion(sha="x")]


@pytest.mark.usefixtures("force_push")
async def test_a_deleted_head_is_named(world):
    world.repos.missing_heads = {HEAD}
    answer = (await ask(world, HEAD, NEXT)).json()
    assert answer["comparison"] == {"pairs": [], "missing": HEAD}


@pytest.mark.usefixtures("force_push")
@pytest.mark.parametrize("sha", [BASE, "e" * 40, "", "x", "%", "%25" * 40, HEAD[:39], "fix", "_" * 40])
async def test_a_commit_that_was_no_head_of_the_pull_request_is_not_compared(world, sha):
    assert (await ask(world, sha, NEXT)).status_code == 404
    assert (await ask(world, NEXT, sha)).status_code == 404
    assert questions(world) == []


@pytest.mark.usefixtures("force_push")
async def test_the_heads_of_another_pull_request_are_not_compared(world):
    world.repos.branches[APP, "other"] = JOINED
    world.repos.comparison = comparison(head_sha=JOINED)
    await world.propose(head="other")
    assert (await ask(world, JOINED, JOINED, number=2)).status_code == 200
    assert (await ask(world, HEAD, JOINED, number=2)).status_code == 404
    assert (await ask(world, HEAD, JOINED)).status_code == 404


@pytest.mark.usefixtures("force_push")
@pytest.mark.parametrize("status", [413, 503])
async def test_what_repos_refuses_is_refused_with_its_words(world, status):
    world.repos.failures["range-diff"] = (status, "there is too much")
    answer = await ask(world, HEAD, NEXT)
    assert answer.status_code == status
    assert status == 503 or answer.json()["message"] == "there is too much"


@pytest.mark.usefixtures("force_push")
async def test_only_readers_of_the_pull_request_may_ask(world):
    await world.open_issue()
    assert (await ask(world, HEAD, NEXT, number=2)).status_code == 404
    assert (await ask(world, HEAD, NEXT, number=3)).status_code == 404
    path = f"/internal/repos/ann/app/pulls/1/range-diff?old={HEAD}&new={NEXT}"
    assert (await world.http.get(path, headers=world.headers(2))).status_code == 404
    world.repos.repositories[APP] = repository(private=True)
    assert [(await ask(world, HEAD, NEXT, as_=id_)).status_code for id_ in (0, 1, 4)] == [404, 200, 404]
