"""Conflicts of a pull request for web. Bob (2) may write to the repository, Dan (4) owns the fork."""

import pytest

from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_contracts.repos.conflicts import ConflictedFile, ConflictPart, FindConflicts, ResolveConflicts

from ..builders import APP, FORK, HEAD, repository

WEB = SigningKey.generate()
PATH = "/internal/repos/ann/app/pulls/1/conflicts"
FILE = ConflictedFile(path="f", parts=[ConflictPart(is_conflict=True, ours="1\n", theirs="2\n")])
RESOLUTION = {"head_sha": HEAD, "base_sha": "b" * 40, "files": [{"path": "f", "text": "both\n"}]}


@pytest.fixture
def settings(settings):
    return settings | {"public_keys": {"web": WEB.x}}


async def ask(world, method="GET", body=None, *, as_=2):
    headers = {SERVICE_HEADER: ServiceIdentity("web", WEB).token("issues")} | world.headers(as_)
    return await world.http.request(method, PATH, json=body, headers=headers)


async def test_conflicts_of_the_head_are_those_that_repos_finds(world):
    world.repos.conflicted_files = [FILE]
    await world.propose()
    answer = await ask(world)
    assert (answer.status_code, [one["path"] for one in answer.json()["files"]]) == (200, ["f"])
    [sent] = world.repos.bodies("conflicts", FindConflicts)
    assert (sent.head_branch, sent.head_sha, sent.base_repository_id, sent.base_branch) == (
        "fix",
        HEAD,
        APP,
        "main",
    )


async def test_a_resolution_is_made_in_the_repository_of_the_head(world):
    world.repos.branches[FORK, "fix"] = HEAD
    await world.propose(head="dan:fix", as_=4)
    assert (await ask(world, "POST", RESOLUTION, as_=2)).status_code == 403
    answer = await ask(world, "POST", RESOLUTION, as_=4)
    assert (answer.status_code, answer.json()) == (200, {"sha": world.repos.merged.sha})
    assert world.repos.branches[FORK, "fix"] == world.repos.merged.sha
    sent = world.repos.bodies("resolutions", ResolveConflicts)[-1]
    assert (sent.head_branch, sent.base_branch, sent.resolution.base_sha) == ("fix", "main", "b" * 40)


@pytest.mark.parametrize(("failure", "status"), [((409, "moved"), 409), ((413, "too much"), 413)])
async def test_what_repos_refuses_is_refused(world, failure, status):
    await world.propose()
    world.repos.failures |= {"conflicts": failure, "resolutions": failure}
    assert (await ask(world)).status_code == status
    assert (await ask(world, "POST", RESOLUTION)).status_code == status


async def test_a_closed_pull_request_has_no_conflicts_to_resolve(world):
    await world.propose()
    await world.call("PATCH", "/pulls/1", {"state": "closed"})
    assert (await ask(world)).status_code == 422
    assert (await ask(world, "POST", RESOLUTION)).status_code == 422


async def test_a_repository_without_updates_by_merge_has_none_to_resolve(world):
    world.repos.repositories[APP] = repository(allow_merge_update=False)
    await world.propose()
    assert (await ask(world)).status_code == 403
    assert (await ask(world, "POST", RESOLUTION)).status_code == 403
    assert not world.repos.bodies("resolutions", ResolveConflicts)


async def test_an_issue_has_none_and_nobody_may_ask(world):
    await world.open_issue()
    assert (await ask(world)).status_code == 404
    await world.propose()
    assert (await ask(world, as_=0)).status_code == 401
    assert (await world.http.get(PATH, headers=world.headers(2))).status_code == 404
