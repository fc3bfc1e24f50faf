"""A worker of repos that kills itself between two steps of a fork, an import, its repeat or a sync.

Started once as ``python mortal_repos.py``. Each line on stdin is one life, as JSON: ``database``, ``folder``,
``source`` (a bare repository), ``kind``, ``begin`` (true to request the work first) and ``kill_at``. The
process gets SIGKILL before the step of that number; with 0 it survives. It answers ``killed`` or ``lived``.
Every life is a fork of this process.

A step is a statement or commit of the database, the start of a program, or a change on disk.
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from sqlalchemy import event
from sqlalchemy.engine import Engine
from world import World

from ingot_chassis.clock import now
from ingot_chassis.telemetry import configure_logging
from ingot_testing.apps import keep_routes

DISK = {"os.rename", "os.mkdir", "os.remove", "os.utime", "shutil.rmtree", "subprocess.Popen"}


class Steps:
    """Counts, and ends the process before step ``kill_at``."""

    def __init__(self, kill_at):
        self.kill_at, self.count = kill_at, 0

    def __call__(self, *_):
        self.count += 1
        if self.count == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self):
        for name in ("before_cursor_execute", "commit"):
            event.listen(Engine, name, self)
        sys.addaudithook(lambda name, _: self() if name in DISK else None)


async def begin(world, ann, bob, kind, source):
    """Request the work, as users do."""
    if kind == "fork":
        await ann.create("app", auto_init=True)
        answer = await bob.post("/repos/ann/app/forks")
    else:
        sent = {"clone_addr": source, "repo_name": "app", "mirror": kind == "sync"}
        answer = await bob.but(admin=True).post("/repos/migrate", sent)
    assert answer.status_code in (201, 202), answer.text
    if kind == "sync":
        await world.components.import_workers.step()
        move(Path(source) / "refs" / "heads")
        assert (await bob.post("/repos/bob/app/mirror-sync")).status_code == 200
    if kind == "repeat_import":
        await world.components.import_workers.step()
        move(Path(source) / "refs" / "heads")
        again = await bob.post(f"/repos/migrate/{answer.json()['id']}/again", {})
        assert again.status_code == 202, again.text


def move(branches):
    """One branch comes, one goes."""
    (branches / "new").write_text((branches / "trunk").read_text())
    (branches / "old").unlink()


async def live(life):
    world = World(
        life["database"],
        Path(life["folder"]),
        local_remotes=["/"],
        push_lease_seconds=1,
        mirror_interval_seconds=86400,
    )
    components = world.components
    users = world.user(1, "ann", admin=True), world.user(2, "bob")
    if life["begin"]:
        await begin(world, *users, life["kind"], life["source"])
    else:
        await end_leases(world)
    Steps(life["kill_at"]).watch()
    while not await settled(world):
        for workers in (components.workers, components.import_workers, components.mirror_workers):
            await workers.step()
        await components.pushes.sweep()
        await asyncio.sleep(0.02)
    await world.close()


async def end_leases(world):
    """Expire the leases of dead processes."""
    for name in ("job", "push"):
        table = world.database.metadata.tables[name]
        async with world.database.transaction() as tx:
            await tx.execute(table.update().values(lease_until=table.c.created_at))


async def settled(world):
    """Return True if nothing is due and nothing is open."""
    due = [
        job
        for job in await world.rows("job")
        if job.state == "running" or (job.state == "waiting" and job.run_at <= now() + timedelta(hours=1))
    ]
    return not due and not await world.rows("push")


def main():
    configure_logging("error")
    keep_routes()
    with tempfile.TemporaryDirectory() as folder:
        World(f"sqlite+aiosqlite:///{folder}/x.db", Path(folder))  # lays out the routes of every life
    for line in sys.stdin:
        life = json.loads(line)
        child = os.fork()
        if child == 0:
            asyncio.run(live(life))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print("killed" if killed else "lived" if status == 0 else f"failed {status}", flush=True)


if __name__ == "__main__":
    main()
