"""Changes of many issues by one request, as web sends them."""

import pytest

from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_testing.service import count_statements

from ..builders import APP, repository

WEB = SigningKey.generate()


@pytest.fixture
def settings(settings):
    return settings | {"public_keys": {"web": WEB.x}}


async def edit(world, numbers, *, as_=1, principal=None, **change):
    headers = {SERVICE_HEADER: ServiceIdentity("web", WEB).token("issues")}
    headers |= world.headers(as_, **(principal or {}))
    world.forget_grants()
    body = {"numbers": numbers, **change}
    return await world.http.post("/internal/repos/ann/app/issues/edits", json=body, headers=headers)


async def outcomes(world, numbers, **options):
    """The outcomes by number: True or False for what was changed, or the reason of a refusal."""
    answer = await edit(world, numbers, **options)
    assert answer.status_code == 200, answer.text
    return {one["number"]: one["refusal"] or one["changed"] for one in answer.json()["outcomes"]}


async def names(world, number=1):
    return [one["name"] for one in (await world.call("GET", f"/issues/{number}/labels")).json()]


async def test_a_writer_changes_all_fields_of_many_issues_at_once(world):
    for _ in range(3):
        await world.open_issue(as_=3)
    label, milestone = await world.create_label(), await world.create_milestone()
    changed = await outcomes(
        world,
        [1, 2],
        as_=2,
        state="closed",
        milestone=milestone["id"],
        labels={"how": "add", "ids": [label["id"]]},
        assignees={"how": "set", "logins": ["cat", "bob"]},
    )
    assert changed == {1: True, 2: True}
    for number in (1, 2):
        issue = (await world.call("GET", f"/issues/{number}")).json()
        people = [one["login"] for one in issue["assignees"]]
        assert (issue["state"], issue["milestone"]["title"], people) == ("closed", "one", ["cat", "bob"])
        assert await names(world, number) == ["bug"]
        assert await world.kinds(number) == ["label", "milestone", "assignees", "assignees", "close"]
    assert await world.issue_states(3) == ["open"]


async def test_each_issue_is_announced_as_a_change_of_one_is(world):
    await world.open_issue()
    label = await world.create_label()
    await outcomes(world, [1], state="closed", labels={"how": "add", "ids": [label["id"]]})
    assert await world.actions() == ["opened", "label_updated", "closed"]


@pytest.mark.parametrize(
    ("how", "chosen", "left", "changed"),
    [
        ("add", ["c"], ["a", "b", "c"], True),
        ("add", ["a"], ["a", "b"], False),
        ("remove", ["a", "c"], ["b"], True),
        ("remove", ["c"], ["a", "b"], False),
        ("set", ["c"], ["c"], True),
        ("set", ["a", "b"], ["a", "b"], False),
        ("set", [], [], True),
    ],
)
async def test_labels_are_added_removed_or_replaced(world, how, chosen, left, changed):
    ids = {name: (await world.create_label(name))["id"] for name in ("a", "b", "c")}
    await world.open_issue(labels=[ids["a"], ids["b"]])
    labels = {"how": how, "ids": [ids[name] for name in chosen]}
    assert await outcomes(world, [1], labels=labels) == {1: changed}
    assert await names(world) == left


@pytest.mark.parametrize(
    ("how", "chosen", "left"),
    [
        ("add", ["cat"], ["bob", "cat"]),
        ("remove", ["bob", "dan"], []),
        ("set", ["cat"], ["cat"]),
        ("set", [], []),
    ],
)
async def test_assignees_are_added_removed_or_replaced(world, how, chosen, left):
    await world.open_issue(assignees=["bob"])
    assert await outcomes(world, [1], assignees={"how": how, "logins": chosen}) == {1: True}
    issue = (await world.call("GET", "/issues/1")).json()
    assert [one["login"] for one in issue["assignees"] or []] == left


async def test_a_milestone_is_removed_and_a_foreign_one_refused(world):
    milestone = await world.create_milestone()
    await world.open_issue(milestone=milestone["id"])
    assert await outcomes(world, [1], milestone=999) == {1: "milestone: is no milestone of the repository"}
    assert await outcomes(world, [1], milestone=0) == {1: True}
    assert await outcomes(world, [1], milestone=0) == {1: False}


async def test_authors_close_and_reopen_their_own_and_change_nothing_else(world):
    await world.open_issue(as_=3)
    await world.open_issue(as_=1)
    foreign = "only its author and writers of the repository may edit it"
    assert await outcomes(world, [1, 2], as_=3, state="closed") == {1: True, 2: foreign}
    needs = "write access to the repository is needed"
    assert await outcomes(world, [1, 2], as_=3, state="open", milestone=0) == {1: needs, 2: foreign}
    assert await world.issue_states(1, 2) == ["closed", "open"]


async def test_a_refusal_leaves_the_others_changed_and_says_why(world):
    for _ in range(3):
        await world.open_issue()
    dependency = {"owner": "ann", "repo": "app", "index": 3}
    assert (await world.call("POST", "/issues/2/dependencies", dependency)).status_code == 201
    changed = await outcomes(world, [1, 2, 4], state="closed")
    assert (changed[1], changed[2] not in (True, False), changed[4]) == (True, True, "Not found.")
    assert await world.issue_states(1, 2) == ["closed", "open"]


async def test_a_refused_state_leaves_the_labels_as_they_were(world):
    for _ in range(2):
        await world.open_issue()
    label = await world.create_label()
    await world.call("POST", "/issues/1/dependencies", {"owner": "ann", "repo": "app", "index": 2})
    await outcomes(world, [1], state="closed", labels={"how": "add", "ids": [label["id"]]})
    assert await names(world) == []


async def test_issues_and_pull_requests_are_changed_apart(world):
    await world.open_issue()
    await world.propose()
    assert await outcomes(world, [1, 2], state="closed") == {1: True, 2: "Not found."}
    assert await outcomes(world, [1, 2], state="closed", is_pull=True) == {1: "Not found.", 2: True}


@pytest.mark.parametrize(
    "change",
    [
        {"numbers": []},
        {"numbers": [0]},
        {"numbers": [2**63]},
        {"numbers": list(range(1, 52))},
        {"numbers": ["x"]},
        {"state": "merged"},
        {"milestone": -1},
        {"labels": {"how": "add", "ids": [9]}},
        {"labels": {"how": "swap", "ids": []}},
        {"assignees": {"how": "add", "logins": ["nobody"]}},
        {"assignees": {"how": "set", "logins": ["bob"] * 11}},
    ],
)
async def test_values_that_no_issue_can_have_are_refused_as_a_whole(world, change):
    await world.open_issue()
    answer = await edit(world, **({"numbers": [1], "state": "closed"} | change))
    assert answer.status_code == 422, answer.text
    assert await world.issue_states(1) == ["open"]


async def test_rights_are_those_of_the_repository_and_of_the_token(world):
    await world.open_issue()
    for options, status in (
        ({"as_": 0}, 401),
        ({"principal": {"scopes": ["read:issue"]}}, 403),
        ({"principal": {"scopes": ["write:issue"]}}, 200),
    ):
        assert (await edit(world, [1], state="closed", **options)).status_code == status
    world.repos.repositories[APP] = repository(archived=True)
    assert (await edit(world, [1], state="open")).status_code == 403
    world.repos.repositories[APP] = repository(private=True)
    assert (await edit(world, [1], as_=4, state="open")).status_code == 404


async def test_many_issues_are_read_by_as_many_statements_as_one(world):
    for _ in range(10):
        await world.open_issue()
    await world.call("PATCH", "/issues/1", {"state": "closed"})
    counts = []
    for numbers in ([11], list(range(11, 41))):  # none of them exists
        with count_statements(world.db) as statements:
            await outcomes(world, numbers, state="closed")
        counts.append(len(statements))
    assert 0 < counts[0] == counts[1]
