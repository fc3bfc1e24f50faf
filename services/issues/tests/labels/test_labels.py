"""Labels of a repository and on issues, below both spellings of the paths."""

import pytest

from ingot_issues.access.api.texts import MOST_ITEMS

from ..builders import repository


@pytest.mark.parametrize("issues", ["issue", "issues"])
async def test_labels_of_an_issue_are_put_replaced_and_taken_off(world, issues):
    await world.open_issue(as_=3)
    bug, ui = await world.create_label("bug"), await world.create_label("UI")
    path = f"/{issues}/1/labels"
    put = await world.call("POST", path, {"labels": [ui["id"], bug["id"], 999]})
    assert (put.status_code, [label["name"] for label in put.json()]) == (200, ["bug", "UI"])
    replaced = await world.call("PUT", path, {"labels": [ui["id"]]})
    assert [label["name"] for label in replaced.json()] == ["UI"]
    assert (await world.call("GET", path, as_=0)).json() == replaced.json()
    assert (await world.call("DELETE", f"{path}/{bug['id']}")).status_code == 204
    assert (await world.call("DELETE", f"{path}/999")).status_code == 422
    assert (await world.call("DELETE", path)).status_code == 204
    assert (await world.call("GET", path)).json() == []
    actions = await world.actions()
    assert actions == ["opened", "label_updated", "label_updated", "label_cleared"]
    _, *events = await world.payloads("issues.issue.changed.v1")
    changed = [
        {kind: [label["name"] for label in labels] for kind, labels in event["changes"].items()}
        for event in events
    ]
    assert changed == [
        {"added_labels": ["UI", "bug"]} if ui["id"] < bug["id"] else {"added_labels": ["bug", "UI"]},
        {"removed_labels": ["bug"]},
        {"removed_labels": ["UI"]},
    ]
    assert events[1]["changes"]["removed_labels"] == [bug]


@pytest.mark.parametrize(
    ("sent", "stored"), [("#Ff00aa", "ff00aa"), ("ff00aa", "ff00aa"), ("#f0a", "ff00aa")]
)
async def test_colours_come_with_or_without_a_hash(world, sent, stored):
    assert (await world.create_label("bug", sent))["color"] == stored


async def test_labels_are_changed_read_by_name_and_deleted(world):
    created = await world.create_label("bug")
    changed = await world.call("PATCH", f"/labels/{created['id']}", {"name": "fire"})
    assert changed.json() == created | {"name": "fire"}
    assert (await world.call("GET", "/labels/fire")).json()["id"] == created["id"]
    assert (await world.call("GET", f"/labels/{created['id']}")).json()["name"] == "fire"
    for _ in range(2):
        assert (await world.call("DELETE", f"/labels/{created['id']}")).status_code == 204
    assert (await world.call("GET", "/labels")).json() == []


async def test_several_labels_have_one_name_which_stands_for_the_oldest(world):
    first, other = await world.create_label("bug"), await world.create_label("fire")
    second = await world.create_label("BUG")
    renamed = await world.call("PATCH", f"/labels/{other['id']}", {"name": "bug"})
    assert (renamed.status_code, renamed.json()["name"]) == (200, "bug")
    assert len({first["id"], second["id"], other["id"]}) == 3
    assert (await world.call("GET", "/labels/bug")).json()["id"] == first["id"]
    await world.open_issue(as_=3)
    for labels, ids in ((["bug"], [first]), (["Bug", second["id"]], [first, second])):
        put = await world.call("PUT", "/issues/1/labels", {"labels": labels})
        assert sorted(label["id"] for label in put.json()) == [label["id"] for label in ids]


async def test_labels_and_milestones_of_another_repository_are_unknown(world):
    world.repos.repositories[9] = repository(9, name="lib")
    world.repos.levels[(9, 1)] = "owner"
    label = (await world.call("POST", "//repos/ann/lib/labels", {"name": "x", "color": "#ffffff"})).json()[
        "id"
    ]
    milestone = (await world.call("POST", "//repos/ann/lib/milestones", {"title": "x"})).json()["id"]
    refused = await world.call("POST", "/issues", {"title": "x", "milestone": milestone})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "milestone")
    opened = await world.open_issue(labels=[label])
    assert (opened["labels"], opened["number"]) == ([], 1)
    assert (await world.call("PATCH", "/issues/1", {"milestone": milestone})).status_code == 422
    for issues in ("issue", "issues"):
        path = f"/{issues}/1/labels"
        assert (await world.call("POST", path, {"labels": [label]})).json() == []
        assert (await world.call("DELETE", f"{path}/{label}")).status_code == 422
    for path in (f"/labels/{label}", f"/milestones/{milestone}"):
        assert (await world.call("GET", path)).status_code == 404
        assert (await world.call("PATCH", path, {"name": "y", "title": "y"})).status_code == 404
        assert (await world.call("DELETE", path)).status_code == 204
        assert (await world.call("GET", f"//repos/ann/lib{path}")).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "more"),
    [
        ("POST", "/issue/1/labels", {}),
        ("PUT", "/issues/1/labels", {}),
        ("POST", "/issues", {"title": "x"}),
        ("POST", "/pulls", {"title": "x", "head": "two", "base": "main"}),
        ("PATCH", "/pulls/1", {}),
    ],
)
async def test_one_label_counts_once_and_a_hundred_are_the_most(world, method, path, more):
    await world.propose()
    bug = (await world.create_label())["id"]
    assert (await world.call(method, path, more | {"labels": [bug] * MOST_ITEMS})).status_code in (200, 201)
    assert len((await world.call("GET", "/issues?labels=bug")).json()) == 1
    beyond = await world.call(method, path, more | {"labels": [*range(100), "x"]})
    assert (beyond.status_code, "labels" in beyond.json()["message"]) == (422, True)


async def test_a_label_keeps_what_is_said_of_it(world):
    fields = {"description": "it burns", "exclusive": True, "is_archived": True}
    created = await world.create("/labels", {"name": "kind/bug", "color": "#ff0000", **fields})
    assert {name: created[name] for name in fields} == fields
    edited = await world.call("PATCH", f"/labels/{created['id']}", {"description": "", "exclusive": False})
    assert (edited.json()["description"], edited.json()["exclusive"]) == ("", False)
    opened = await world.open_issue(labels=[created["id"]])
    assert opened["labels"] == [edited.json()]
    assert (await world.call("GET", "/issues/1")).json()["labels"] == [edited.json()]


async def test_an_exclusive_label_takes_the_others_of_its_scope_off(world):
    body = {"color": "#ff0000", "exclusive": True}
    ids = [
        (await world.create("/labels", body | {"name": name}))["id"]
        for name in ("kind/bug", "Kind/ui", "prio/1", "kind/deep/one")
    ]
    await world.open_issue(labels=[ids[0], ids[2], ids[3]])
    await world.call("POST", "/issues/1/labels", {"labels": [ids[1]]})
    labels = (await world.call("GET", "/issues/1/labels")).json()
    assert [label["name"] for label in labels] == ["kind/deep/one", "Kind/ui", "prio/1"]
    replaced = await world.call("PUT", "/issues/1/labels", {"labels": ids})
    assert [label["name"] for label in replaced.json()] == ["kind/deep/one", "Kind/ui", "prio/1"]


async def test_labels_of_an_issue_are_a_paged_list(world):
    ids = [(await world.create_label(name))["id"] for name in ("c", "B", "a")]
    await world.open_issue(labels=ids)
    answer = await world.call("GET", "/issues/1/labels?limit=2")
    assert [label["name"] for label in answer.json()] == ["a", "B"]
    assert answer.headers["x-total-count"] == "3"
    rest = await world.call("GET", "/issue/1/labels?limit=2&page=2")
    assert [label["name"] for label in rest.json()] == ["c"]
