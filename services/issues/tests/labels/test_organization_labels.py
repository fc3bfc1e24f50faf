"""Labels of the organization acme (20): Ann (1) owns it, Bob (2) is a member, Cat (3) is a stranger."""

import msgspec
import pytest

from ingot_chassis.security.principal import Membership
from ingot_contracts.identity.accounts import User
from ingot_contracts.identity.events import OrganizationDeleted
from ingot_contracts.repos.events import FirstLabel, RepositoryCreated, RepositoryEdited
from ingot_issues.labels.store import repository as labels
from ingot_testing.service import count_statements

from ..builders import APP, repository

ACME = 20
LABELS = "//orgs/acme/labels"
NEW = {"name": "bug", "color": "#ff0000"}


@pytest.fixture
def acme(world):
    """Owns the repository ann/app, under the name acme/app."""
    world.identity.add_account(ACME, "acme", kind="organization")
    world.identity.memberships = {1: {ACME: Membership(owner=True)}, 2: {ACME: Membership()}}
    owned_by(world, ACME, "acme")


def owned_by(world, owner_id, login):
    owner = User(id=owner_id, login=login)
    owned = msgspec.structs.replace(repository(), owner=owner, full_name=f"{login}/app")
    world.repos.repositories[APP] = owned
    world.repos.levels |= {(APP, 1): "owner", (APP, 2): "write"}
    return owned


async def create(world, **fields):
    answer = await world.call("POST", LABELS, NEW | fields)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def names(world, path=LABELS, **more):
    answer = await world.call("GET", path, **more)
    return [label["name"] for label in answer.json()], answer.headers["x-total-count"]


async def test_a_label_of_an_organization_is_kept_until_it_is_deleted(world, acme):
    label = await create(world, description="red")
    assert label["url"].endswith(f"/api/v1/orgs/acme/labels/{label['id']}")
    path = f"{LABELS}/{label['id']}"
    assert (await world.call("GET", path, as_=0)).json() == label
    edited = await world.call("PATCH", path, {"name": "Bug", "color": "00f"})
    assert (edited.json()["name"], edited.json()["color"]) == ("Bug", "0000ff")
    await create(world, name="a")
    assert await names(world, f"{LABELS}?limit=1") == (["a"], "2")
    for _ in range(2):
        assert (await world.call("DELETE", path)).status_code == 204
    assert (await world.call("GET", path)).status_code == 404


@pytest.mark.parametrize(
    ("visibility", "as_", "reads", "writes"),
    [
        ("public", 0, 200, 401),
        ("public", 3, 200, 403),
        ("public", 2, 200, 403),
        ("public", 1, 200, 201),
        ("limited", 0, 404, 404),
        ("limited", 3, 200, 403),
        ("private", 3, 404, 404),
        ("private", 2, 200, 403),
        ("private", 1, 200, 201),
    ],
)
async def test_who_may_see_and_write_labels(world, acme, visibility, as_, reads, writes):
    world.identity.add_account(ACME, "acme", kind="organization", visibility=visibility)
    assert (await world.call("GET", LABELS, as_=as_)).status_code == reads
    assert (await world.call("POST", LABELS, NEW, as_=as_)).status_code == writes


@pytest.mark.parametrize(
    ("as_", "more", "reads", "writes"),
    [
        (3, {}, 404, 404),
        (3, {"restricted_to": [APP]}, 404, 404),
        (2, {}, 200, 403),
        (2, {"restricted_to": [APP]}, 404, 404),
        (1, {}, 200, 201),
    ],
)
@pytest.mark.parametrize("visibility", ["public", "limited", "private"])
async def test_a_restricted_user_sees_labels_only_as_a_member(
    world, acme, visibility, as_, more, reads, writes
):
    world.identity.add_account(ACME, "acme", kind="organization", visibility=visibility)
    more = more | {"granted_only": True}
    assert (await world.call("GET", LABELS, as_=as_, **more)).status_code == reads
    assert (await world.call("POST", LABELS, NEW, as_=as_, **more)).status_code == writes


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"scopes": ["read:organization"]}, 403),
        ({"scopes": ["write:organization"]}, 201),
        ({"restricted_to": [APP]}, 403),
    ],
)
async def test_what_a_token_may_do(world, acme, more, status):
    assert (await world.call("POST", LABELS, NEW, **more)).status_code == status


@pytest.mark.parametrize("name", ["ann", "nobody"])
async def test_only_organizations_have_such_labels(world, acme, name):
    for method, body in (("GET", None), ("POST", NEW)):
        assert (await world.call(method, f"//orgs/{name}/labels", body)).status_code == 404


@pytest.mark.parametrize(("fields", "field"), [({"name": " "}, "name"), ({"color": "red"}, "color")])
async def test_a_label_that_cannot_be_is_refused(world, acme, fields, field):
    await create(world)
    answer = await world.call("POST", LABELS, {"name": "x", "color": "fff"} | fields)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


async def test_issues_of_its_repositories_have_its_labels(world, acme):
    label, root = await create(world), "//repos/acme/app"
    issue = await world.call("POST", f"{root}/issues", {"title": "x", "labels": [label["id"]]})
    assert issue.json()["labels"] == [label]
    assert (await names(world, f"{root}/labels"))[0] == []
    assert [one["number"] for one in (await world.call("GET", f"{root}/issues?labels=bug")).json()] == [1]
    taken = await world.call("DELETE", f"{root}/issues/1/labels/{label['id']}")
    assert taken.status_code == 204
    added = await world.call("POST", f"{root}/issues/1/labels", {"labels": ["bug"]})
    assert added.json() == [label]
    await world.call("DELETE", f"{LABELS}/{label['id']}")
    assert (await world.call("GET", f"{root}/issues/1")).json()["labels"] == []


async def test_another_repository_does_not_get_them(world, acme):
    label = await create(world)
    owned_by(world, 1, "ann")
    assert (await world.open_issue(labels=[label["id"], "bug"]))["labels"] == []
    assert (await world.call("DELETE", f"/issues/1/labels/{label['id']}")).status_code == 422


async def test_a_transfer_and_the_end_of_the_organization_take_them_off(world, acme):
    label, root = await create(world), "//repos/acme/app"
    for _ in range(2):
        await world.call("POST", f"{root}/issues", {"title": "x", "labels": [label["id"]]})
    sender = User(id=1, login="ann")
    renamed = RepositoryEdited(
        repository=world.repos.repositories[APP], sender=sender, previous_full_name="acme/old"
    )
    await world.deliver(renamed)
    assert (await world.call("GET", f"{root}/issues/1")).json()["labels"] == [label]
    moved = owned_by(world, 1, "ann")
    await world.deliver(RepositoryEdited(repository=moved, sender=sender, previous_full_name="acme/app"))
    assert (await world.call("GET", "/issues/1")).json()["labels"] == []
    await world.deliver(OrganizationDeleted(organization_id=ACME, login="acme"))
    assert await names(world) == ([], "0")


async def test_a_list_takes_as_many_statements_for_many(world, acme):
    counts = []
    for number in range(2):
        await create(world, name=f"l{number}")
        with count_statements(world.db) as statements:
            await names(world)
        counts.append(len(statements))
    assert 0 < counts[0] == counts[1]


async def test_a_new_repository_gets_no_labels_of_organizations(world, acme):
    await create(world, name="secret")
    first = [FirstLabel(name="bug", color="ee0701")]
    new = RepositoryCreated(repository=repository(99), sender=User(id=1, login="ann"), labels=first)
    await world.deliver(new)
    async with world.db.read() as db:
        assert [row.name for row in await labels.list_all(db, 99)] == ["bug"]
