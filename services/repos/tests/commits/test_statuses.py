"""Statuses of commits."""

import pytest

pytestmark = pytest.mark.both_databases


async def test_a_status_is_announced(world, ann, base):
    status = {"state": "failure", "context": "ci", "description": "it burns"}
    answer = await ann.post("/repos/ann/app/statuses/topic", status)
    assert answer.status_code == 201
    (event,) = await world.events("repos.status.created.v1")
    assert event["status"] == answer.json()
    assert (event["repository"]["full_name"], event["sender"]["login"]) == ("ann/app", "ann")
    assert len(event["sha"]) == 40


async def test_the_announcement_of_a_status_has_its_commit_with_its_files(world, ann, base):
    assert (await ann.post("/repos/ann/app/statuses/topic", {"state": "success"})).status_code == 201
    (event,) = await world.events("repos.status.created.v1")
    commit = event["commit"]
    assert (commit["id"], commit["message"]) == (event["sha"], "topic\n")
    assert (commit["added"], commit["removed"], commit["modified"]) == (["b.txt"], [], [])
    assert (commit["author"]["username"], commit["url"].endswith(f"/ann/app/commit/{event['sha']}")) == (
        "ann",
        True,
    )


async def test_the_list_of_a_ref_is_paged_sorted_and_filtered(world, ann, base):
    for context, state in (("a", "pending"), ("b", "success"), ("a", "success")):
        await ann.post("/repos/ann/app/statuses/topic", {"state": state, "context": context})
    path = "/repos/ann/app/commits/topic/statuses"
    for query, ids in (
        ("page=1", [3, 2, 1]),
        ("limit=1&page=2", [2]),
        ("sort=leastindex", [1, 2, 3]),
        ("sort=oldest&state=success", [2, 3]),
        ("state=error", []),
    ):
        listed = await ann.get(f"{path}?{query}")
        assert [status["id"] for status in listed.json()] == ids, query
        assert listed.headers["x-total-count"] == ("3" if "state" not in query else str(len(ids)))
    assert (await ann.get(f"{path}?sort=best")).status_code == 422
    bogus = await ann.get(f"{path}?state=bogus")
    assert (bogus.status_code, bogus.json()["errors"][0]["field"]) == (422, "state")
    for more in ("", "?state=", "?x=1"):
        combined = (await ann.get(path + more)).json()
        assert (combined["state"], [status["id"] for status in combined["statuses"]]) == ("success", [3, 2])
    world.settings.statuses_of_commits = "list"
    assert [status["id"] for status in (await ann.get(path)).json()] == [3, 2, 1]
    assert (await ann.get("/repos/ann/app/commits/topic/status?page=1")).json()["total_count"] == 2
    await ann.post("/repos/ann/app/statuses/topic", {"state": "error", "context": "slow"})
    second = await ann.get("/repos/ann/app/commits/topic/status?limit=1&page=2")
    assert (second.json()["state"], second.json()["total_count"]) == ("failure", 3)
    assert len(second.json()["statuses"]) == 1
    assert second.headers["x-total-count"] == "3"
    assert 'rel="next"' in second.headers["link"]
    assert (await ann.get("/repos/ann/app/commits/HEAD/status?page=9")).json()["statuses"] == []


@pytest.mark.parametrize(("tail", "failed"), [("status", "failure"), ("statuses", "")])
async def test_both_spellings_of_the_combined_status(ann, base, tail, failed):
    """The older one has the worst state, the later one what a client may act on."""
    path = f"/repos/ann/app/commits/master/{tail}"
    sha = (await ann.get("/repos/ann/app/branches/master")).json()["commit"]["id"]
    empty = (await ann.get(path)).json()
    assert (empty["state"], empty["sha"], empty["total_count"], empty["statuses"]) == (
        "pending",
        sha,
        0,
        [],
    )
    for number, (state, worst) in enumerate(
        [
            ("pending", "pending"),
            ("skipped", "pending"),
            ("success", "pending" if failed else "success"),
            ("warning", failed or "warning"),
            ("failure", failed or "failure"),
            ("error", failed or "error"),
        ]
    ):
        response = {"state": state, "context": f"c{number}"}
        assert (await ann.post(f"/repos/ann/app/statuses/{sha}", response)).status_code == 201
        assert (await ann.get(path)).json()["state"] == worst
    for number in range(6):
        state = "success" if number % 2 else "skipped"
        response = {"state": state, "context": f"c{number}"}
        await ann.post(f"/repos/ann/app/statuses/{sha}", response)
    result = (await ann.get(path)).json()
    assert (result["state"], result["total_count"]) == ("success", 6)


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "//x.example", "https://a:b@x.example/"]
)
async def test_a_report_at_no_address_of_the_web_is_refused(ann, url):
    created = await ann.create("app", auto_init=True)
    sha = (await ann.get(f"/repos/ann/app/branches/{created['default_branch']}")).json()["commit"]["id"]
    for path, body, field in (
        (f"/repos/ann/app/statuses/{sha}", {"state": "success", "target_url": url}, "target_url"),
        ("/user/repos", {"name": "other", "website": url}, "website"),
    ):
        answer = await ann.post(path, body)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field), answer.text
        assert "must be an address that begins with http:// or https://" in answer.text
    for body, field in (
        ({"website": url}, "website"),
        ({"external_wiki": {"external_wiki_url": url}}, "external_wiki.external_wiki_url"),
        ({"external_tracker": {"external_tracker_url": url}}, "external_tracker.external_tracker_url"),
    ):
        answer = await ann.call("PATCH", "/api/v1/repos/ann/app", body)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field), answer.text
    assert (await ann.get("/repos/ann/app")).json()["website"] == created["website"] == ""
