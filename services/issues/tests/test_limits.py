"""How much one request may ask for, and what that costs."""

import pytest

from .conftest import World
from .test_issues import sql
from .test_pulls import propose


async def labels(world: World, *names: str) -> list[int]:
    made = [await world.call("POST", "/labels", {"name": name, "color": "#ff0000"}) for name in names]
    return [label.json()["id"] for label in made]


@pytest.mark.parametrize("kind", ["issues", "pulls"])
async def test_any_number_of_labels_is_one_subquery(world: World, kind: str) -> None:
    small, large, ui = await labels(world, "bug", "BUG", "ui")
    for number, (head, held) in enumerate({"one": [small, large], "two": [large, ui]}.items(), 1):
        await propose(world, head=head)
        await world.call("POST", f"/issue/{number}/labels", {"labels": held})
    for query, numbers in {
        "labels=bug": [2, 1],
        "labels=bug,BUG,Bug": [2, 1],
        "labels=bug,ui": [2],
        "labels=bug&labels=ui,none": [],
        f"labels={','.join(f'l{n}' for n in range(50))}": [],
    }.items():
        found = await world.call("GET", f"/{kind}?{query}")
        assert [row["number"] for row in found.json()] == numbers, query
        asked = await sql(world, f"/{kind}?{query}")
        assert max(text.count("IN (SELECT issue_label.issue_id") for text in asked) == 1, query


@pytest.mark.parametrize("kind", ["issues", "pulls"])
@pytest.mark.parametrize("name", ["labels", "milestone"])
async def test_a_filter_has_fifty_values_at_most(world: World, kind: str, name: str) -> None:
    await propose(world)
    fifty = ",".join(f"l{n}" for n in range(50))
    assert (await world.call("GET", f"/{kind}?{name}={fifty},l1,,l2")).status_code == 200
    refused = await world.call("GET", f"/{kind}?{name}={fifty},more")
    assert (refused.status_code, name in refused.json()["message"]) == (422, True)


@pytest.mark.parametrize("kind", ["issues", "pulls"])
@pytest.mark.parametrize("name", ["labels", "milestone"])
async def test_a_number_beyond_all_ids_matches_nothing(world: World, kind: str, name: str) -> None:
    await propose(world)
    assert (await world.call("GET", f"/{kind}?{name}={2**63}")).json() == []
    assert len((await world.call("GET", f"/{kind}")).json()) == 1
