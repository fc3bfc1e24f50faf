"""Events show what the API shows, and nothing that only the actor may know."""

import msgspec

from ingot_testing.non_empty import non_empty

from ..builders import repository


async def test_labels_milestones_and_times_are_announced_as_the_api_shows_them(world):
    await world.open_issue(as_=3)
    bug = await world.create_label("bug")
    milestone = await world.create_milestone()
    for path, change in (("labels", {"name": "Bug"}), ("milestones", {"state": "closed"})):
        for _ in range(2):  # the second changes nothing
            edited = await world.call("PATCH", f"/{path}/1", change)
        assert edited.status_code == 200
    time = (await world.call("POST", "/issues/1/times", {"time": 60})).json()
    for _ in range(2):
        assert (await world.call("DELETE", "/labels/1")).status_code == 204
        assert (await world.call("DELETE", "/milestones/1")).status_code == 204
    events = [event for event in await world.payloads() if event["type"] != "issues.issue.changed.v1"]
    assert {(event["repository"]["full_name"], event["sender"]["login"]) for event in events} == {
        ("ann/app", "ann")
    }
    shown = [
        (event["action"], event.get("label") or event.get("milestone") or event["time"]) for event in events
    ]
    closed = edited.json()
    assert shown == [
        ("created", bug),
        ("created", milestone),
        ("edited", bug | {"name": "Bug"}),
        ("edited", closed),
        ("created", time | {"user_name": "", "issue": None}),
        ("deleted", bug | {"name": "Bug"}),
        ("deleted", closed),
    ]
    assert (closed["state"], bug["id"], milestone["id"], time["time"]) == ("closed", 1, 1, 60)


async def test_events_show_the_private_fork_of_a_public_repository_to_nobody(world):
    world.repos.repositories[8] = repository(8, owner=4, parent=repository(), private=True)
    await world.propose(as_=4, head="dan:fix")
    await world.call("PATCH", "/pulls/1", {"title": "other"}, as_=4)
    for event in non_empty(await world.payloads("issues.pull.changed.v1")):
        assert (event["pull_request"]["head"]["repo_id"], event["pull_request"]["head"]["repo"]) == (8, None)


async def test_no_event_has_what_only_the_actor_may_know_of_a_repository(world):
    parent = repository(9, name="secret", private=True)
    callers_fields = {"parent": parent, "original_url": "https://secret.example", "mirror_interval": "8h0m0s"}
    fork = repository(8, owner=4, **callers_fields | {"parent": repository()})
    world.repos.repositories |= {7: repository(**callers_fields), 8: fork}
    await world.propose(as_=4, head="dan:fix")
    await world.call("POST", "/issues", {"title": "x"})
    await world.call("POST", "/issues/2/comments", {"body": "x"})
    for event in non_empty(await world.payloads()):
        assert b"secret" not in msgspec.json.encode(event)
        assert b"8h0m0s" not in msgspec.json.encode(event)
    shown = (await world.call("GET", "/pulls/1", as_=3)).json()["head"]["repo"]
    assert (shown["parent"], shown["original_url"], shown["mirror_interval"]) == (None, "", "")
