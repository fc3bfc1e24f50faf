"""Lists: filters, pages, and how many statements they take."""

import pytest

from ingot_issues.labels.store.tables import issue_label as issue_label_table

from ..builders import fill

pytestmark = pytest.mark.both_databases


async def test_lists_filter(world):
    await world.create_label()
    milestone = (await world.create_milestone())["id"]
    await world.open_issue("first fire", labels=["bug"])
    await world.open_issue("second", as_=3, body="FIRE")
    await world.open_issue("third", assignee="bob", milestone=milestone)
    await world.open_issue("fourth", closed=True)
    for query, numbers in {
        "": [3, 2, 1],
        "state=closed": [4],
        "state=all": [4, 3, 2, 1],
        "state=strange": [3, 2, 1],
        "q=fire": [2, 1],
        "labels=bug": [1],
        "labels=none": [],
        f"milestones={milestone}": [3],
        "milestones=ONE": [3],
        "created_by=cat": [2],
        "assigned_by=bob": [3],
        "type=pulls": [],
        "state=all&sort=recentclose": [4, 3, 2, 1],
        "type=issues&sort=oldest": [1, 2, 3],
        "since=2000-01-01T00:00:00Z": [3, 2, 1],
        "since=2999-01-01T00:00:00Z": [],
        "since=rubbish": [3, 2, 1],
    }.items():
        answer = await world.call("GET", f"/issues?{query}")
        assert [issue["number"] for issue in answer.json()] == numbers, query
        assert answer.headers["x-total-count"] == str(len(numbers)), query


async def test_lists_show_what_has_no_label_no_milestone_or_nobody(world):
    await world.create_label()
    milestone = (await world.create_milestone())["id"]
    await world.open_issue("bare")
    await world.open_issue("labelled", labels=["bug"])
    await world.open_issue("planned", milestone=milestone)
    await world.open_issue("assigned", assignee="bob")
    await world.open_issue("all of it", assignee="bob", milestone=milestone, labels=["bug"])
    await world.open_issue("done", closed=True)
    await world.propose()
    for query, numbers in {
        "without=labels": [7, 4, 3, 1],
        "without=milestone": [7, 4, 2, 1],
        "without=assignee": [7, 3, 2, 1],
        "without=labels,assignee": [7, 3, 1],
        "without=labels&without=milestone&without=assignee": [7, 1],
        "without=labels&type=issues": [4, 3, 1],
        "without=labels&state=closed": [6],
        "without=labels&labels=bug": [],
        "without=assignee&labels=bug": [2],
        "without=labels&sort=oldest&limit=2": [1, 3],
        "without=labels&sort=oldest&limit=2&page=2": [4, 7],
        "without=": [7, 5, 4, 3, 2, 1],
    }.items():
        answer = await world.call("GET", f"/issues?{query}")
        assert [issue["number"] for issue in answer.json()] == numbers, query
    refused = await world.call("GET", "/issues?without=labels,hope")
    assert (refused.status_code, "without: 'hope' is none of" in refused.json()["message"]) == (422, True)


async def test_a_name_with_a_comma_or_of_digits_is_asked_for_as_it_is(world):
    names = ("later, or never", "2026", "later")
    for number, name in enumerate(names, 1):
        await world.create_label(name)
        milestone = (await world.create_milestone(name))["id"]
        await world.open_issue(labels=[name], milestone=milestone)
        for parameter in ("label_name", "milestone_title"):
            answer = await world.call("GET", "/issues", params={parameter: name})
            assert [issue["number"] for issue in answer.json()] == [number], (parameter, name)
    await world.open_issue("all", labels=list(names))
    both = await world.call("GET", "/issues", params={"label_name": names[:2], "labels": "later"})
    assert [issue["number"] for issue in both.json()] == [4]
    refused = await world.call("GET", "/issues", params={"label_name": [f"l{n}" for n in range(51)]})
    assert (refused.status_code, "label_name" in refused.json()["message"]) == (422, True)


async def test_lists_are_paged(world):
    for n in range(5):
        await world.open_issue(f"number {n}")
    answer = await world.call("GET", "/issues?limit=2&page=2&state=open")
    assert [issue["number"] for issue in answer.json()] == [3, 2]
    assert 'rel="next"' in answer.headers["link"]
    assert "state=open" in answer.headers["link"]


async def test_a_list_takes_as_many_statements_for_1000_rows_as_for_10(world):
    await world.create_label()
    await world.create_milestone()
    paths = ["/issues", "/pulls", "/milestones", "/labels", "/issues/comments"]
    counts = []
    for first, count in ((1, 10), (11, 990)):
        await fill(world.db, first, count)
        counts.append([len(await world.sql(f"{path}?limit=50")) for path in paths])
    assert all(counts[0])
    assert counts[0] == counts[1]
    assert max(counts[0]) <= 3
    assert "compare" not in world.repos.operations()


async def test_what_has_no_label_takes_as_many_statements_for_many_rows_as_for_few(world):
    await world.create_label()
    await world.create_milestone()
    counts = []
    for first, count in ((1, 2), (3, 40)):
        await fill(world.db, first, count)
        async with world.db.transaction() as tx:
            await tx.execute(issue_label_table.delete())
        answer = await world.call("GET", "/issues?without=labels&limit=50")
        assert len(answer.json()) == first + count - 1
        counts.append(len(await world.sql("/issues?without=labels&limit=50")))
    assert 0 < counts[0] == counts[1] <= 2


@pytest.mark.parametrize("kind", ["issues", "pulls"])
async def test_any_number_of_labels_is_one_subquery(world, kind):
    bug, ui = [(await world.create_label(name))["id"] for name in ("bug", "ui")]
    for number, (head, labels) in enumerate({"one": [bug], "two": [bug, ui]}.items(), 1):
        await world.propose(head=head)
        await world.call("POST", f"/issue/{number}/labels", {"labels": labels})
    for query, numbers in {
        "labels=bug": [2, 1],
        "labels=bug,BUG,Bug": [2, 1],
        "labels=bug,ui": [2],
        "labels=bug&labels=ui,none": [],
        f"labels={','.join(f'l{n}' for n in range(50))}": [],
    }.items():
        answer = await world.call("GET", f"/{kind}?{query}")
        assert [row["number"] for row in answer.json()] == numbers, query
        statements = await world.sql(f"/{kind}?{query}")
        assert max(text.count("IN (SELECT issue_label.issue_id") for text in statements) == 1, query


@pytest.mark.parametrize("kind", ["issues", "pulls"])
@pytest.mark.parametrize("name", ["labels", "milestone"])
async def test_a_filter_has_fifty_values_at_most(world, kind, name):
    await world.propose()
    fifty = ",".join(f"l{n}" for n in range(50))
    assert (await world.call("GET", f"/{kind}?{name}={fifty},l1,,l2")).status_code == 200
    refused = await world.call("GET", f"/{kind}?{name}={fifty},more")
    assert (refused.status_code, name in refused.json()["message"]) == (422, True)


@pytest.mark.parametrize("kind", ["issues", "pulls"])
@pytest.mark.parametrize("name", ["labels", "milestone"])
async def test_a_number_beyond_all_ids_matches_nothing(world, kind, name):
    await world.propose()
    assert (await world.call("GET", f"/{kind}?{name}={2**63}")).json() == []
    assert len((await world.call("GET", f"/{kind}")).json()) == 1
