"""Hooks over HTTP: what may be set, and what is shown."""

import asyncio
import json

import pytest

from ingot_chassis.security.sealing import Seal
from ingot_hooks.hooks.rules import MAX_HOOKS

from ..builders import config, hook
from ..world import HOOKS, MEMBER, OWNER, World


async def test_a_created_hook_is_shown_without_its_secret(world):
    body = hook(config=config(secret="s3cret", colour="red"))
    created = await world.call("POST", HOOKS, body)
    assert created.status_code == 201
    answer = created.json()
    assert answer["config"] == {"url": "http://ci.example.org/hook", "content_type": "json"}
    assert answer["events"] == ["push"]
    assert answer["active"] is True
    assert answer["type"] == "gitea"
    assert "s3cret" not in created.text
    assert (await world.call("GET", f"{HOOKS}/{answer['id']}")).json() == answer
    assert (await world.call("GET", HOOKS)).json() == [answer]


async def test_a_secret_is_sealed_in_the_database(world):
    created = await world.call("POST", HOOKS, hook(config=config(secret="s3cret")))
    (row,) = await world.rows("hook")
    assert row.id == created.json()["id"]
    assert b"s3cret" not in row.sealed_secret
    assert world.parts[Seal].open(row.sealed_secret) == "s3cret"


async def test_a_hook_is_inactive_unless_the_body_says_active(world):
    created = await world.call("POST", HOOKS, {"type": "gitea", "config": config()})
    assert created.json()["active"] is False


async def test_a_hook_of_forgejo_is_one_of_gitea(world):
    created = await world.call("POST", HOOKS, {"type": "forgejo", "config": config()})
    assert (created.status_code, created.json()["type"]) == (201, "gitea")


@pytest.mark.parametrize(
    ("names", "events"),
    [
        ([], ["push"]),
        (["pull_request", "push", "create"], ["create", "push", "pull_request"]),
        (["issues", "no-such-event"], ["issues"]),
    ],
)
async def test_events_are_listed_in_a_fixed_order(world, names, events):
    created = await world.call("POST", HOOKS, hook(events=names))
    assert created.json()["events"] == events


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"type": "carrier-pigeon", "config": config()}, "type"),
        ({"config": config()}, "type"),
        ({"type": "gitea"}, "config"),
        ({"type": "gitea", "config": {"content_type": "json"}}, "config.url"),
        ({"type": "gitea", "config": {"url": "http://x"}}, "config.content_type"),
        ({"type": "gitea", "config": config(content_type="xml")}, "config.content_type"),
        ({"type": "gitea", "config": config("ftp://x/y")}, "config.url"),
        ({"type": "gitea", "config": config("http://")}, "config.url"),
        ({"type": "gitea", "config": config("http://[::1/x")}, "config.url"),
        ({"type": "gitea", "config": config("http://x:99999/")}, "config.url"),
        ({"type": "gitea", "config": config("http://x:0/")}, "config.url"),
        ({"type": "gitea", "config": config("https://x:000/")}, "config.url"),
        ({"type": "gitea", "config": config("http://x/ y")}, "config.url"),
        ({"type": "gitea", "config": config("http://x/" + "y" * 3000)}, "config.url"),
        ({"type": "gitea", "config": config(secret="s" * 300)}, "config.secret"),
        ({"type": "gitea", "config": config(), "branch_filter": "m" * 300}, "branch_filter"),
        ({"type": "gitea", "config": config("http://x/\x00")}, "config.url"),
    ],
)
async def test_a_hook_that_cannot_be_is_refused_by_the_field(world, body, field):
    refused = await world.call("POST", HOOKS, body)
    assert refused.status_code == 422, refused.text
    assert refused.json()["errors"][0]["field"] == field


@pytest.mark.parametrize("body", [[], "x", {"type": 1, "config": {}}, {"type": "gitea", "config": []}])
async def test_a_body_of_the_wrong_type_is_a_bad_request(world, body):
    assert (await world.call("POST", HOOKS, body)).status_code == 422


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_events_of_which_none_exists_are_refused(world, method):
    created = (await world.call("POST", HOOKS, hook(events=["issues"]))).json()
    path = HOOKS if method == "POST" else f"{HOOKS}/{created['id']}"
    refused = await world.call(method, path, hook(events=["no-such-event", ""]))
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "events"
    assert (await world.call("GET", f"{HOOKS}/{created['id']}")).json()["events"] == ["issues"]


async def add_copies(world: World, count: int) -> None:
    """Add copies of the one hook."""
    table = world.table("hook")
    (hook_row,) = await world.rows("hook")
    row = hook_row._asdict()
    async with world.db.transaction() as tx:
        del row["id"]
        await tx.execute(table.insert(), [row] * count)


async def test_hooks_created_at_once_do_not_exceed_the_limit(world):
    await world.call("POST", HOOKS, hook())
    await add_copies(
        world, MAX_HOOKS - 5
    )  # connections open one after the other, so the first request may be alone
    created = await asyncio.gather(*(world.call("POST", HOOKS, hook()) for _ in range(8)))
    assert sorted(answer.status_code for answer in created) == [201] * 4 + [409] * 4


async def test_the_number_of_hooks_is_limited(world):
    created = (await world.call("POST", HOOKS, hook())).json()
    await add_copies(world, MAX_HOOKS - 1)
    refused = await world.call("POST", HOOKS, hook())
    assert (refused.status_code, str(MAX_HOOKS) in refused.json()["message"]) == (409, True)
    assert (await world.call("POST", "/repos/ann/other/hooks", hook())).status_code == 201
    assert (await world.call("DELETE", f"{HOOKS}/{created['id']}")).status_code == 204
    assert (await world.call("POST", HOOKS, hook())).status_code == 201


async def test_an_edit_leaves_absent_fields_as_they_are(world):
    created = (await world.call("POST", HOOKS, hook(events=["create"], branch_filter="main"))).json()
    edited = await world.call("PATCH", f"{HOOKS}/{created['id']}", {"config": {"content_type": "form"}})
    assert edited.status_code == 200
    changed = {"config": {"url": created["config"]["url"], "content_type": "form"}}
    assert edited.json() == created | changed | {"updated_at": edited.json()["updated_at"]}


@pytest.mark.parametrize(
    ("edit", "events"),
    [
        ({}, ["create"]),
        ({"events": None}, ["create"]),
        ({"events": []}, ["push"]),
        ({"events": ["issues", "no-such-event"]}, ["issues"]),
    ],
)
async def test_an_edit_changes_the_events_that_it_names(world, edit, events):
    created = (await world.call("POST", HOOKS, hook(events=["create"]))).json()
    edited = await world.call("PATCH", f"{HOOKS}/{created['id']}", edit)
    assert (edited.status_code, edited.json()["events"]) == (200, events)


async def test_a_hook_has_a_name_for_people(world):
    created = (await world.call("POST", HOOKS, hook(name="deploy"))).json()
    path = f"{HOOKS}/{created['id']}"
    assert created["name"] == "deploy"
    for edit, name in (({}, "deploy"), ({"name": "build"}, "build"), ({"name": ""}, "")):
        assert (await world.call("PATCH", path, edit)).json()["name"] == name
    assert (await world.call("POST", HOOKS, hook())).json()["name"] == ""


async def test_a_secret_can_be_replaced_and_removed(world):
    created = (await world.call("POST", HOOKS, hook(config=config(secret="one")))).json()
    for secret in ("two", ""):
        await world.call("PATCH", f"{HOOKS}/{created['id']}", {"config": {"secret": secret}})
        (row,) = await world.rows("hook")
        assert world.parts[Seal].open(row.sealed_secret) == secret


async def test_a_deleted_hook_is_not_found(world):
    created = (await world.call("POST", HOOKS, hook())).json()
    assert (await world.call("DELETE", f"{HOOKS}/{created['id']}")).status_code == 204
    assert (await world.call("GET", f"{HOOKS}/{created['id']}")).status_code == 404
    assert (await world.call("DELETE", f"{HOOKS}/{created['id']}")).status_code == 404


async def test_the_id_of_a_deleted_hook_is_never_used_again(world):
    first = (await world.call("POST", HOOKS, hook())).json()
    await world.call("DELETE", f"{HOOKS}/{first['id']}")
    assert (await world.call("POST", HOOKS, hook())).json()["id"] > first["id"]


@pytest.mark.parametrize(("method", "body"), [("GET", None), ("PATCH", {}), ("DELETE", None)])
async def test_a_hook_of_another_repository_is_not_found(world, method, body):
    other = (await world.call("POST", "/repos/ann/other/hooks", hook())).json()
    assert (await world.call(method, f"{HOOKS}/{other['id']}", body)).status_code == 404


async def test_lists_come_in_pages(world):
    ids = [(await world.call("POST", HOOKS, hook())).json()["id"] for _ in range(3)]
    page = await world.call("GET", f"{HOOKS}?limit=2&page=2")
    assert [each["id"] for each in page.json()] == ids[2:]
    assert page.headers["x-total-count"] == "3"
    assert 'rel="prev"' in page.headers["link"]


async def test_a_former_name_of_the_repository_redirects_to_the_present_one(world):
    world.former_names["ann/old"] = "ann/other"
    listed = await world.call("GET", "/repos/ann/old/hooks?page=2")
    assert (listed.status_code, listed.headers["location"]) == (302, "/api/v1/repos/ann/other/hooks?page=2")
    stranger = await world.call("GET", "/repos/ann/old/hooks", user=2)
    assert (stranger.status_code, "location" in stranger.headers) == (404, False)


async def test_a_hook_of_a_repository_is_not_found_in_an_organization(world):
    created = (await world.call("POST", "/repos/ann/app/hooks", hook())).json()
    assert (
        await world.call("GET", f"/orgs/acme/hooks/{created['id']}", organizations=OWNER)
    ).status_code == 404


async def test_the_test_of_a_hook_of_an_organization_names_a_repository_that_does_not_exist(world, receiver):
    created = (
        await world.call("POST", "/orgs/acme/hooks", hook(receiver.url, active=False), organizations=MEMBER)
    ).json()
    path = f"/orgs/acme/hooks/{created['id']}"
    assert (await world.call("POST", f"{path}/tests", organizations=MEMBER)).status_code == 403
    assert (await world.call("POST", f"{path}/tests", organizations=OWNER)).status_code == 204
    await world.worker.step()
    (request,) = receiver.requests
    assert json.loads(request.body)["repository"]["full_name"] == "acme/example"
    again = await world.call(
        "POST", f"{path}/deliveries/attempts", {"since": "2020-01-01T00:00:00Z"}, organizations=OWNER
    )
    assert again.json() == {"count": 0}
