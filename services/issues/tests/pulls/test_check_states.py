"""States of the checks of pull requests in lists, as web requests them."""

import pytest

from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity

from ..builders import APP, repository

WEB = SigningKey.generate()


@pytest.fixture
def settings(settings):
    return settings | {"public_keys": {"web": WEB.x}}


async def ask(world, *ids, as_=1, peer="web"):
    headers = {SERVICE_HEADER: ServiceIdentity("web", WEB).token("issues")} if peer else {}
    body = {"ids": ids}
    path = "/internal/pull-check-states"
    return await world.http.request("POST", path, json=body, headers=headers | world.headers(as_))


async def states(world, *ids, **options):
    answer = await ask(world, *ids, **options)
    assert answer.status_code == 200, answer.text
    return answer.json().get("states", {})


async def propose(world, state):
    """Open a pull request whose head has checks in this state; its id as an issue."""
    await world.propose()
    issue = (await world.call("GET", "/issues/1")).json()
    pull = (await world.call("GET", "/pulls/1")).json()
    world.repos.check_states[APP, pull["head"]["sha"]] = state
    return issue["id"]


async def test_the_state_is_that_of_the_head(world):
    id_ = await propose(world, "failure")
    issue = (await world.call("POST", "/issues", {"title": "no pull request"})).json()
    assert await states(world, id_, issue["id"], 999) == {str(id_): "failure"}
    world.repos.check_states.clear()
    assert await states(world, id_) == {}
    assert await states(world) == {}


async def test_a_closed_pull_request_is_left_out(world):
    id_ = await propose(world, "failure")
    assert await states(world, id_) == {str(id_): "failure"}
    await world.call("PATCH", "/issues/1", {"state": "closed"})
    assert await states(world, id_) == {}


async def test_of_a_private_repository_nothing_is_told(world):
    id_ = await propose(world, "success")
    assert await states(world, id_, as_=0) == {str(id_): "success"}
    world.repos.add(repository(private=True))
    assert await states(world, id_) == {str(id_): "success"}
    assert [await states(world, id_, as_=other) for other in (0, 3)] == [{}, {}]


async def test_repos_of_an_earlier_release_knows_none(world):
    id_ = await propose(world, "success")
    world.repos.failures["commit-states"] = (404, "not found")
    assert await states(world, id_) == {}


async def test_too_many_ids_and_other_callers_are_refused(world):
    assert (await ask(world, *range(1, 102))).status_code == 400
    assert (await ask(world, 1, peer="")).status_code == 404
