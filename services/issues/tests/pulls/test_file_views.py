"""Viewed files of pull requests, as web reads and changes them."""

import pytest

from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_contracts.identity.events import UserDeleted
from ingot_issues.pulls.api import file_views

from ..builders import APP, repository

WEB = SigningKey.generate()
ONE, OTHER = "1" * 64, "2" * 64


@pytest.fixture
def settings(settings):
    return settings | {"public_keys": {"web": WEB.x}}


async def ask(world, method="GET", body=None, *, as_=1, number=1, **principal):
    headers = {SERVICE_HEADER: ServiceIdentity("web", WEB).token("issues")}
    path = f"/internal/repos/ann/app/pulls/{number}/file-views"
    headers |= world.headers(as_, **principal)
    return await world.http.request(method, path, json=body, headers=headers)


async def views(world, **options):
    answer = await ask(world, **options)
    assert answer.status_code == 200, answer.text
    return answer.json()["changes"]


async def test_each_person_has_looked_at_files_in_the_state_that_they_had(world):
    await world.propose()
    assert await views(world) == {}
    for changes in (ONE, OTHER):
        saved = await ask(world, "PUT", {"path": ONE, "changes": changes})
        assert (saved.status_code, await views(world)) == (204, {ONE: changes})
    await ask(world, "PUT", {"path": OTHER, "changes": ONE}, as_=2)
    assert (await views(world), await views(world, as_=2)) == ({ONE: OTHER}, {OTHER: ONE})
    assert (await ask(world, "PUT", {"path": ONE})).status_code == 204
    assert (await views(world), await views(world, as_=2)) == ({}, {OTHER: ONE})


async def test_what_an_account_has_looked_at_goes_with_it(world):
    await world.propose()
    await ask(world, "PUT", {"path": ONE, "changes": ONE}, as_=2)
    await world.deliver(UserDeleted(user_id=2, login="bob"))
    assert await views(world, as_=2) == {}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"path": "1"}, 422),
        ({"path": ONE, "changes": "x" * 64}, 422),
        ({"path": ONE, "changes": 5}, 422),
        ([], 422),
    ],
)
async def test_what_is_no_digest_is_refused(world, body, status):
    await world.propose()
    assert (await ask(world, "PUT", body)).status_code == status
    assert await views(world) == {}


async def test_files_are_of_pull_requests_that_the_caller_sees(world):
    await world.open_issue()
    await world.propose()
    body = {"path": ONE, "changes": ONE}
    for number, options, status in (
        (1, {}, 404),
        (3, {}, 404),
        (2, {"as_": 0}, 401),
        (2, {"scopes": ["read:issue"]}, 403),
        (2, {"scopes": ["write:issue"]}, 204),
    ):
        assert (await ask(world, "PUT", body, number=number, **options)).status_code == status


async def test_one_looks_at_files_of_an_archived_repository_too(world):
    await world.propose()
    world.repos.repositories[APP] = repository(archived=True)
    world.forget_grants()
    assert (await ask(world, "PUT", {"path": ONE, "changes": ONE}, as_=3)).status_code == 204
    assert await views(world, as_=3) == {ONE: ONE}


async def test_a_person_has_looked_at_so_many_files_and_no_more(world, monkeypatch):
    monkeypatch.setattr(file_views, "MOST_FILE_VIEWS", 2)
    await world.propose()
    for number, status in ((1, 204), (2, 204), (3, 422), (2, 204)):
        body = {"path": f"{number}" * 64, "changes": ONE}
        assert (await ask(world, "PUT", body)).status_code == status
    assert len(await views(world)) == 2
