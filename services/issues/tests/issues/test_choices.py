"""Labels and milestones that an issue can get, as web requests them."""

import pytest

from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import SERVICE_HEADER, Membership, ServiceIdentity
from ingot_testing.service import count_statements

from ..labels.test_organization_labels import ACME, owned_by

WEB = SigningKey.generate()


@pytest.fixture
def settings(settings):
    return settings | {"public_keys": {"web": WEB.x}}


async def choices(world, caller=1, place="ann/app", **principal):
    headers = world.headers(caller, **principal) if caller else {}
    headers |= {SERVICE_HEADER: ServiceIdentity("web", WEB).token("issues")}
    world.forget_grants()
    answer = await world.http.get(f"/internal/repos/{place}/issue-choices", headers=headers)
    return answer.json() if answer.status_code == 200 else answer.status_code


async def test_choices_are_labels_by_name_and_milestones_by_state(world):
    for name in ("bug", "Art"):
        await world.create_label(name)
    for title in ("one", "two", "three"):
        await world.create_milestone(title)
    await world.call("PATCH", "/milestones/2", {"state": "closed"})
    offered = await choices(world, 3)
    assert [label["name"] for label in offered["labels"]] == ["Art", "bug"]
    assert [one["title"] for one in offered["milestones"]] == ["one", "three"]
    assert [one["title"] for one in offered["closed_milestones"]] == ["two"]
    assert (offered["milestone_total"], offered["closed_total"]) == (2, 1)


async def test_nobody_is_offered_choices_of_a_repository_that_they_may_not_see(world):
    await world.create_label()
    assert await choices(world, 3, "ann/none") == 404


@pytest.mark.parametrize(
    ("visibility", "caller", "names"),
    [
        ("public", 3, ["ours", "all"]),
        ("private", 3, ["ours"]),
        ("private", 2, ["ours", "all"]),
        ("limited", 0, ["ours"]),
    ],
)
async def test_labels_of_an_organization_are_offered_to_who_may_see_it(world, visibility, caller, names):
    await world.create_label("ours")
    world.identity.add_account(ACME, "acme", kind="organization", visibility=visibility)
    world.identity.memberships = {1: {ACME: Membership(owner=True)}, 2: {ACME: Membership()}}
    world.repos.organizations.add(ACME)
    owned_by(world, ACME, "acme")
    assert (
        await world.call("POST", "//orgs/acme/labels", {"name": "all", "color": "00f"})
    ).status_code == 201
    offered = await choices(world, caller, "acme/app")
    assert [label["name"] for label in offered["labels"]] == names


async def test_choices_of_an_account_ask_identity_nothing_and_take_as_many_statements_for_many(world):
    counts = []
    for number in range(2):
        for place in range(20):
            await world.create_label(f"{number} {place}")
            await world.create_milestone(f"{number} {place}")
        world.identity.paths.clear()
        with count_statements(world.db) as statements:
            await choices(world)
        counts.append(len(statements))
        assert world.identity.paths == []
    assert 0 < counts[0] == counts[1]
