"""Rights of the caller to an issue, as web requests them."""

import pytest

from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity

from ..builders import APP, repository

WEB = SigningKey.generate()


@pytest.fixture
def settings(settings):
    return settings | {"public_keys": {"web": WEB.x}}


async def may_edit(world, caller, number=1):
    headers = {SERVICE_HEADER: ServiceIdentity("web", WEB).token("issues")} | world.headers(caller)
    world.forget_grants()
    answer = await world.http.get(f"/internal/repos/ann/app/issues/{number}/rights", headers=headers)
    return answer.json()["may_edit"] if answer.status_code == 200 else answer.status_code


async def test_the_author_and_writers_may_edit_and_nobody_else(world):
    await world.open_issue(as_=3)
    assert [await may_edit(world, caller) for caller in (1, 3, 4, 0)] == [True, True, False, 401]
    assert await may_edit(world, 1, number=2) == 404


async def test_nobody_edits_in_an_archived_repository(world):
    await world.open_issue()
    world.repos.repositories[APP] = repository(archived=True)
    assert await may_edit(world, 1) is False
