"""How much one request may ask for, and what that costs."""

import asyncio

import pytest

from ingot_issues.core import references
from ingot_issues.core.markdown import LARGEST

from .conftest import World
from .test_issues import open_issue, sql
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


@pytest.mark.parametrize("digits", ["0" * 25 + "1" + "9" * 19, "9" * 5000, str(2**63), "0" * 30])
@pytest.mark.parametrize("path", ["/pulls/{}", "/pulls/{}.diff", "/labels/{}", "/issues/{}"])
async def test_digits_that_are_no_id_are_not_found(world: World, path: str, digits: str) -> None:
    assert (await world.call("GET", path.format(digits))).status_code == 404


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
async def test_one_label_counts_once_and_a_hundred_are_the_most(
    world: World, method: str, path: str, more: dict[str, str]
) -> None:
    await propose(world)
    [bug] = await labels(world, "bug")
    assert (await world.call(method, path, more | {"labels": [bug] * 40_000})).status_code in (200, 201)
    assert len((await world.call("GET", "/issues?labels=bug")).json()) == 1
    beyond = await world.call(method, path, more | {"labels": [*range(100), "x"]})
    assert (beyond.status_code, "labels" in beyond.json()["message"]) == (422, True)


TEXTS = [
    ("POST", "/issues", {"title": "x"}),
    ("PATCH", "/issues/1", {}),
    ("POST", "/pulls", {"title": "x", "head": "two", "base": "main"}),
    ("PATCH", "/pulls/1", {}),
    ("POST", "/issues/1/comments", {}),
    ("PATCH", "/issues/comments/1", {}),
]


@pytest.mark.parametrize(("method", "path", "more"), TEXTS)
async def test_a_text_has_128_k_characters_at_most(
    world: World, method: str, path: str, more: dict[str, str]
) -> None:
    await propose(world)
    assert (await world.call("POST", "/issues/1/comments", {"body": "x"})).json()["id"] == 1
    for body in ("- #1\n" * 1_500_000, "x" * (LARGEST + 1)):
        refused = await world.call(method, path, more | {"body": body})
        assert (refused.status_code, "body" in refused.json()["message"]) == (422, True)
    assert (await world.call("GET", "/issues/1")).json()["comments"] == 1
    assert (await world.call(method, path, more | {"body": "x" * LARGEST})).status_code in (200, 201)


@pytest.mark.parametrize(("method", "path", "more"), TEXTS)
async def test_a_text_is_parsed_while_nothing_waits_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch, method: str, path: str, more: dict[str, str]
) -> None:
    """Another request writes into the same repository from within the parser."""
    await open_issue(world, "target")
    await propose(world)
    await world.call("POST", "/issues/2/comments", {"body": "x"})
    loop, inner = asyncio.get_running_loop(), references.words

    def parse(text: str) -> str:
        if len(text) > 10_000:
            other = world.call("POST", "/issues/1/labels", {"labels": []})
            assert asyncio.run_coroutine_threadsafe(other, loop).result(30).status_code == 200
        return inner(text)

    monkeypatch.setattr(references, "words", parse)
    path = path.replace("/1", "/2") if "comments/" not in path else path
    answer = await world.call(method, path, more | {"body": "see #1\n\n" + "x " * 10_000})
    assert answer.status_code in (200, 201)
    kinds = [row["type"] for row in (await world.call("GET", "/issues/1/timeline")).json()]
    assert [kind[-4:] for kind in kinds] == ["_ref"]
