"""Shard commands of operators: list, add, move, balance, drain and remove."""

import asyncio

import pytest

from ingot_chassis.errors import CannotStart
from ingot_repos.catalog.store.tables import repository
from ingot_repos.placement import clients as shards
from ingot_repos.shards.jobs import commands as shard_commands
from ingot_repos.shards.jobs.commands import ShardCommands
from ingot_repos.shards.rules.rebalancing import Load, Network, plan, total_of, weight

from ..shard_world import two_shards
from ..world import Person, migrate
from .test_moves import make_due, shard_of


@pytest.fixture
async def worlds(make_database, tmp_path):
    async with two_shards(make_database("repos", migrate), tmp_path) as both:
        yield both


async def said(lines, *workers):
    """Run the workers while a command runs. Return the output lines of the command."""

    async def work():
        while True:
            for one in workers:
                await one.components.move_workers.step()
            await asyncio.sleep(0.01)

    working = asyncio.create_task(work())
    try:
        return [line async for line in lines]
    finally:
        working.cancel()


async def refusal(lines):
    with pytest.raises(CannotStart) as refused:
        await said(lines)
    return str(refused.value)


async def test_a_shard_is_filled_drained_and_removed(worlds):
    a, b, _ = worlds
    ann = a.user(1, "ann")
    commands = ShardCommands(a.components.jobs, ["a", "b"], poll_seconds=0.01)
    ids = {name: (await ann.create(name, auto_init=True))["id"] for name in ("one", "two")}
    table = await said(commands.list_all())
    assert [line.split()[0] for line in table] == ["SHARD", "a", "b"]
    assert table[1].split()[1::3] == ["2", "active"]
    assert await said(commands.rebalance(dry_run=True)) == ["nothing has to move"]
    for repository_id in ids.values():
        a.components.loads.count(repository_id)
    await a.components.loads.write()
    assert len(await said(commands.rebalance(dry_run=True))) == 1
    assert await shard_of(a, ids["one"]) == "a"
    lines = await said(commands.rebalance(dry_run=False), b)
    assert sum(line.endswith("to b: moved") for line in lines) == 1
    assert await said(commands.rebalance(dry_run=False)) == ["nothing has to move"]
    assert await refusal(commands.move("ann/none", "b")) == "there is no repository ann/none"
    assert (await refusal(commands.move("ann/one", "c"))).startswith("there is no shard c;")
    assert (await refusal(commands.remove("a"))).startswith("a still holds 1 repositories")
    lines = await said(commands.drain("a"), b)
    assert lines[-2:] == [
        "0 repositories are left",
        "a is empty; `ingot-repos shards remove a` removes it or lists what is left",
    ]
    assert await said(commands.move("ann/one", "b")) == ["ann/one is on b already"]
    assert await refusal(commands.move("ann/one", "a")) == "a takes no repositories"
    # Every shard places a new repository on a shard that accepts repositories.
    new = await ann.create("five", auto_init=True)
    assert await shard_of(a, new["id"]) == "b"
    assert (await Person(b, ann.principal).get("/repos/ann/five/raw/README.md")).status_code == 200
    assert "jobs" in await refusal(commands.remove("a"))
    await make_due(a)
    await a.components.move_workers.step()
    assert list(a.components.storage.ids()) == []
    assert (await said(commands.remove("a")))[0].startswith("a is removed")
    assert await refusal(commands.drain("b")) == "there is no other shard that takes repositories"


async def test_a_drain_goes_on_past_a_repository_that_cannot_be_moved(worlds, monkeypatch):
    monkeypatch.setattr(shard_commands, "AT_ONCE", 1)
    a, b, _ = worlds
    ann = a.user(1, "ann")
    damaged, fork, sound = [
        (await ann.create(name, auto_init=True))["id"] for name in ("damaged", "fork", "sound")
    ]
    async with a.database.transaction() as tx:
        await tx.execute(repository.update().where(repository.c.id == fork).values(fork_of=damaged))
    tip = a.components.storage.path(damaged) / "refs/heads/master"
    commit = tip.read_text().strip()
    (tip.parents[2] / "objects" / commit[:2] / commit[2:]).unlink()
    commands = ShardCommands(a.components.jobs, ["a", "b"], poll_seconds=0.01)
    with pytest.raises(CannotStart, match="2 repositories are left on a, since moves failed"):
        await said(commands.drain("a"), b)
    assert (await shard_of(a, damaged), await shard_of(a, fork), await shard_of(a, sound)) == ("a", "a", "b")


async def test_a_shard_that_was_added_by_its_url_is_reached(worlds, monkeypatch):
    a, b, urls = worlds
    ann = a.user(1, "ann")
    await ann.create("app", auto_init=True)
    b.components.shards.origins.clear()
    there = Person(b, ann.principal)
    assert (await there.get("/repos/ann/app/branches")).status_code == 503
    commands = ShardCommands(a.components.jobs, ["b"])
    assert await refusal(commands.add("a", "")) == "a is not in INGOT_REPOS_SHARDS, so it needs --url"
    assert await said(commands.add("a", urls[0])) == ["a takes repositories"]
    assert (await there.get("/repos/ann/app/branches")).status_code == 200
    # Another address is found within seconds, without a restart.
    await said(commands.add("a", "http://127.0.0.1:1"))
    assert (await there.get("/repos/ann/app/branches")).status_code == 200
    monkeypatch.setattr(shards, "URL_SECONDS", 0.0)
    assert (await there.get("/repos/ann/app/branches")).status_code == 503
    await said(commands.add("a", urls[0]))
    assert (await there.get("/repos/ann/app/branches")).status_code == 200
    # As after `drain` and `remove`, which keep its address.
    assert await said(commands.add("a", "")) == ["a takes repositories"]
    assert (await there.get("/repos/ann/app/branches")).status_code == 200


def network(number, size, requests=0):
    return Network(number, f"ann/{number}", 1, Load(size, requests))


def test_a_plan_narrows_the_gaps_and_ends():
    networks = {"a": [network(n, 10 * n, n % 2) for n in range(1, 30)], "b": [network(40, 100)], "c": []}
    loads = {
        name: Load(sum(one.load.bytes for one in has), sum(one.load.requests for one in has))
        for name, has in networks.items()
    }
    planned = plan(loads, networks)
    total = total_of(loads)
    after = {name: weight(load, total) for name, load in loads.items()}
    for one in planned:
        after[one.source] -= weight(one.network.load, total)
        after[one.target] += weight(one.network.load, total)
    assert max(after.values()) - min(after.values()) < 0.05
    assert len({one.network.id for one in planned}) == len(planned)
    assert plan({"a": Load(100), "b": Load()}, {"a": [network(1, 100)]}) == []
    assert plan({"a": Load(), "b": Load()}, {}) == []
