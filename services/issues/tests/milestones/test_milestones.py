"""Milestones."""


async def test_milestones_count_their_issues(world):
    created = await world.call("POST", "/milestones", {"title": "one", "due_on": "2030-01-01T00:00:00+02:00"})
    assert created.status_code == 201
    assert created.json()["due_on"] == "2029-12-31T22:00:00Z"
    one = f"/milestones/{created.json()['id']}"
    for closed in (True, False, False):
        await world.call(
            "POST", "/issues", {"title": "x", "milestone": created.json()["id"], "closed": closed}
        )
    shown = (await world.call("GET", one)).json()
    assert (shown["open_issues"], shown["closed_issues"]) == (2, 1)
    closed = (await world.call("PATCH", one, {"state": "closed", "title": ""})).json()
    assert (closed["title"], closed["state"], closed["closed_at"] is None) == ("one", "closed", False)
    assert len((await world.call("GET", "/milestones?state=all")).json()) == 1
    assert (await world.call("DELETE", one)).status_code == 204
    assert (await world.call("GET", "/issues/2")).json()["milestone"] is None


async def test_a_milestone_is_put_on_and_taken_off(world):
    await world.open_issue(as_=3)
    created = (await world.create_milestone())["id"]
    put = await world.call("PATCH", "/issues/1", {"milestone": created})
    assert put.json()["milestone"]["title"] == "one"
    assert (await world.call("PATCH", "/issues/1", {"milestone": 0})).json()["milestone"] is None
    assert (await world.call("PATCH", "/issues/1", {"milestone": 999})).status_code == 422
    actions = await world.actions()
    assert actions == ["opened", "milestoned", "demilestoned"]


async def test_a_list_of_milestones_has_the_open_ones_unless_asked_otherwise(world):
    await world.create_milestone("one")
    await world.create_milestone("two", state="closed")
    for query, titles in {"": ["one"], "?state=": ["one"], "?state=closed": ["two"]}.items():
        answer = await world.call("GET", f"/milestones{query}")
        assert [milestone["title"] for milestone in answer.json()] == titles, query


async def test_a_list_of_milestones_is_filtered_by_a_part_of_their_titles(world):
    for title in ("Ninety 9%", "Ninety 90"):
        await world.create_milestone(title)
    for query, titles in (
        ("name=nInETY", ["Ninety 9%", "Ninety 90"]),
        ("name=9%25", ["Ninety 9%"]),
        ("name=x", []),
    ):
        shown = await world.call("GET", f"/milestones?{query}")
        assert ([one["title"] for one in shown.json()], shown.headers["x-total-count"]) == (
            titles,
            str(len(titles)),
        )


async def test_a_list_of_milestones_has_the_newest_first_where_that_is_asked_for(world):
    for title in ("one", "two", "three"):
        await world.create_milestone(title, state="closed")
    for query, titles in (
        ("sort=newest&limit=2", ["three", "two"]),
        ("sort=newest&limit=2&page=2", ["one"]),
        ("", ["one", "two", "three"]),
        ("sort=strange", ["one", "two", "three"]),
    ):
        shown = await world.call("GET", f"/milestones?state=closed&{query}")
        assert [one["title"] for one in shown.json()] == titles, query


async def test_a_milestone_is_named_by_its_id_or_its_title(world):
    first = await world.create_milestone("v1.0")
    second = await world.create_milestone(str(first["id"]))
    assert (await world.call("GET", "/milestones/V1.0")).json() == first
    assert (await world.call("GET", f"/milestones/{first['id']}")).json() == first
    assert (await world.call("PATCH", "/milestones/v1.0", {"title": "v2"})).json()["id"] == first["id"]
    assert (await world.call("DELETE", "/milestones/v2")).status_code == 204
    assert (await world.call("GET", f"/milestones/{first['id']}")).json() == second
    for unknown in ("v2", "999", "0", "-1", "9" * 30):
        assert (await world.call("GET", f"/milestones/{unknown}")).status_code == 404, unknown
        assert (await world.call("DELETE", f"/milestones/{unknown}")).status_code == 204, unknown


async def test_lists_find_a_milestone_that_has_a_number_for_a_title(world):
    await world.create_milestone("2026")
    await world.open_issue(milestone=1)
    await world.propose(milestone=1, as_=1)
    for query, numbers in {
        "issues?milestones=2026": [2, 1],
        "issues?milestones=1,x": [2, 1],
        "issues?milestones=2025": [],
        "pulls?milestone=2026": [2],
        "pulls?milestone=0": [2],
    }.items():
        listed = (await world.call("GET", f"/{query}")).json()
        assert [issue["number"] for issue in listed] == numbers, query


async def test_a_milestone_says_when_it_was_created_and_updated(world):
    created = await world.create_milestone()
    assert created["created_at"] == created["updated_at"]
    assert "." not in created["created_at"]
