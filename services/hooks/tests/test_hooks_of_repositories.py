"""Hooks of repositories over HTTP: who may, what may be set, what is shown."""

import asyncio
from typing import Any

import pytest

from ingot_hooks.core.hooks import MOST_HOOKS

from .builders import config, hook
from .conftest import World

HOOKS = "/repos/ann/app/hooks"


async def test_a_created_hook_is_shown_without_its_secret(world: World) -> None:
    body = hook(config=config(secret="s3cret", colour="red"))
    created = await world.call("POST", HOOKS, body)
    assert created.status_code == 201
    shown = created.json()
    assert shown["config"] == {"url": "http://ci.example.org/hook", "content_type": "json"}
    assert shown["events"] == ["push"]
    assert shown["active"] is True
    assert shown["type"] == "gitea"
    assert "s3cret" not in created.text
    assert (await world.call("GET", f"{HOOKS}/{shown['id']}")).json() == shown
    assert (await world.call("GET", HOOKS)).json() == [shown]


async def test_a_secret_is_sealed_in_the_database(world: World) -> None:
    created = await world.call("POST", HOOKS, hook(config=config(secret="s3cret")))
    async with world.db.read() as db:
        row = (await db.execute(world.db.metadata.tables["hook"].select())).one()
    assert row.id == created.json()["id"]
    assert b"s3cret" not in row.sealed_secret
    assert world.app.state.seal.open(row.sealed_secret) == "s3cret"


async def test_a_hook_is_inactive_unless_it_is_asked_to_be_active(world: World) -> None:
    created = await world.call("POST", HOOKS, {"type": "gitea", "config": config()})
    assert created.json()["active"] is False


@pytest.mark.parametrize(
    ("named", "kept"),
    [
        ([], ["push"]),
        (["pull_request", "push", "create"], ["create", "push", "pull_request"]),
        (["issues", "no-such-event"], ["issues"]),
    ],
)
async def test_events_are_listed_in_a_fixed_order(world: World, named: list[str], kept: list[str]) -> None:
    created = await world.call("POST", HOOKS, hook(events=named))
    assert created.json()["events"] == kept


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
async def test_a_hook_that_cannot_be_is_refused_by_the_field(world: World, body: Any, field: str) -> None:
    refused = await world.call("POST", HOOKS, body)
    assert refused.status_code == 422, refused.text
    assert refused.json()["errors"][0]["field"] == field


@pytest.mark.parametrize("body", [[], "x", {"type": 1, "config": {}}, {"type": "gitea", "config": []}])
async def test_a_body_of_the_wrong_type_is_a_bad_request(world: World, body: Any) -> None:
    assert (await world.call("POST", HOOKS, body)).status_code in (400, 422)


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_events_of_which_none_exists_are_refused(world: World, method: str) -> None:
    made = (await world.call("POST", HOOKS, hook(events=["issues"]))).json()
    path = HOOKS if method == "POST" else f"{HOOKS}/{made['id']}"
    refused = await world.call(method, path, hook(events=["no-such-event", ""]))
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "events"
    assert (await world.call("GET", f"{HOOKS}/{made['id']}")).json()["events"] == ["issues"]


async def add_alike(world: World, count: int) -> None:
    """Add hooks like the one that there is."""
    table = world.db.metadata.tables["hook"]
    async with world.db.transaction() as tx:
        row = (await tx.execute(table.select())).one()._asdict()
        del row["id"]
        await tx.execute(table.insert(), [row] * count)


async def test_as_many_as_are_made_at_once_there_are_only_so_many_hooks(world: World) -> None:
    await world.call("POST", HOOKS, hook())
    await add_alike(world, MOST_HOOKS - 5)  # connections are opened one by one: the first may well be alone
    made = await asyncio.gather(*(world.call("POST", HOOKS, hook()) for _ in range(8)))
    assert sorted(answer.status_code for answer in made) == [201] * 4 + [409] * 4


async def test_there_are_only_so_many_hooks(world: World) -> None:
    made = (await world.call("POST", HOOKS, hook())).json()
    await add_alike(world, MOST_HOOKS - 1)
    refused = await world.call("POST", HOOKS, hook())
    assert (refused.status_code, str(MOST_HOOKS) in refused.json()["message"]) == (409, True)
    assert (await world.call("POST", "/repos/ann/other/hooks", hook())).status_code == 201
    assert (await world.call("DELETE", f"{HOOKS}/{made['id']}")).status_code == 204
    assert (await world.call("POST", HOOKS, hook())).status_code == 201


async def test_an_edit_keeps_what_it_does_not_name(world: World) -> None:
    made = (await world.call("POST", HOOKS, hook(events=["create"], branch_filter="main"))).json()
    edited = await world.call("PATCH", f"{HOOKS}/{made['id']}", {"config": {"content_type": "form"}})
    assert edited.status_code == 200
    changed = {"config": {"url": made["config"]["url"], "content_type": "form"}}
    assert edited.json() == made | changed | {"updated_at": edited.json()["updated_at"]}


@pytest.mark.parametrize(
    ("edit", "kept"),
    [
        ({}, ["create"]),
        ({"events": None}, ["create"]),
        ({"events": []}, ["push"]),
        ({"events": ["issues", "no-such-event"]}, ["issues"]),
    ],
)
async def test_an_edit_changes_the_events_that_it_names(world: World, edit: Any, kept: list[str]) -> None:
    made = (await world.call("POST", HOOKS, hook(events=["create"]))).json()
    edited = await world.call("PATCH", f"{HOOKS}/{made['id']}", edit)
    assert (edited.status_code, edited.json()["events"]) == (200, kept)


async def test_a_secret_can_be_replaced_and_taken_away(world: World) -> None:
    made = (await world.call("POST", HOOKS, hook(config=config(secret="one")))).json()
    hooks = world.db.metadata.tables["hook"]
    for secret in ("two", ""):
        await world.call("PATCH", f"{HOOKS}/{made['id']}", {"config": {"secret": secret}})
        async with world.db.read() as db:
            row = (await db.execute(hooks.select())).one()
        assert world.app.state.seal.open(row.sealed_secret) == secret


async def test_a_deleted_hook_is_gone(world: World) -> None:
    made = (await world.call("POST", HOOKS, hook())).json()
    assert (await world.call("DELETE", f"{HOOKS}/{made['id']}")).status_code == 204
    assert (await world.call("GET", f"{HOOKS}/{made['id']}")).status_code == 404
    assert (await world.call("DELETE", f"{HOOKS}/{made['id']}")).status_code == 404


async def test_the_id_of_a_deleted_hook_is_never_given_again(world: World) -> None:
    first = (await world.call("POST", HOOKS, hook())).json()
    await world.call("DELETE", f"{HOOKS}/{first['id']}")
    assert (await world.call("POST", HOOKS, hook())).json()["id"] > first["id"]


@pytest.mark.parametrize(("method", "body"), [("GET", None), ("PATCH", {}), ("DELETE", None)])
async def test_a_hook_of_another_repository_is_not_found(world: World, method: str, body: Any) -> None:
    other = (await world.call("POST", "/repos/ann/other/hooks", hook())).json()
    assert (await world.call(method, f"{HOOKS}/{other['id']}", body)).status_code == 404


@pytest.mark.parametrize(
    ("path", "user", "status"),
    [
        ("/repos/ann/app/hooks", 1, 200),
        ("/repos/ann/app/hooks", 2, 403),
        ("/repos/ann/app/hooks", 0, 401),
        ("/repos/ann/other/hooks", 2, 404),
        ("/repos/ann/other/hooks", 0, 404),
        ("/repos/ann/nothing/hooks", 1, 404),
        ("/repos/ann/app/hooks/0", 1, 404),
        ("/repos/ann/app/hooks/99999999999999999999", 1, 404),
        ("/repos/ann/app/hooks/x", 1, 404),
        ("/repos/ann/app/hooks/12", 1, 404),
    ],
)
async def test_hooks_are_for_those_who_may_write(world: World, path: str, user: int, status: int) -> None:
    assert (await world.call("GET", path, user=user)).status_code == status


async def test_a_token_needs_the_scope_of_hooks(world: World) -> None:
    assert (await world.call("GET", HOOKS, scopes=["read:repository"])).status_code == 403
    assert (await world.call("GET", HOOKS, scopes=["read:hook"])).status_code == 200
    assert (await world.call("POST", HOOKS, hook(), scopes=["read:hook"])).status_code == 403


async def test_lists_come_in_pages(world: World) -> None:
    ids = [(await world.call("POST", HOOKS, hook())).json()["id"] for _ in range(3)]
    page = await world.call("GET", f"{HOOKS}?limit=2&page=2")
    assert [found["id"] for found in page.json()] == ids[2:]
    assert page.headers["x-total-count"] == "3"
    assert 'rel="prev"' in page.headers["link"]


async def test_a_former_name_of_the_repository_leads_to_the_present_one(world: World) -> None:
    world.sisters.repositories["ann/old"] = world.sisters.repositories["ann/app"]
    world.sisters.levels["ann/old", 1] = "owner"
    listed = await world.call("GET", "/repos/ann/old/hooks?page=2")
    assert (listed.status_code, listed.headers["location"]) == (302, "/api/v1/repos/ann/app/hooks?page=2")
    stranger = await world.call("GET", "/repos/ann/old/hooks", user=2)
    assert (stranger.status_code, "location" in stranger.headers) == (404, False)
