"""A repository whose commits the tests of the code routes look at, written without git."""

from typing import Any

import pygit2
from pygit2.enums import FileMode, ObjectType

from ingot_git.testing.builders import commit

from .world import World

MODULES = b'[submodule "lib"]\n\tpath = lib\n\turl = https://example.org/lib.git\n'
FIRST = {"README.md": b"# app\n", "src/main.py": b"print(1)\n", "src/deep/x.txt": b"x\n"}
SECOND = FIRST | {
    "src/main.py": b"print(2)\n",
    "run.sh": (FileMode.BLOB_EXECUTABLE, b"#!/bin/sh\n"),
    "link": (FileMode.LINK, b"src/main.py"),
    ".gitmodules": MODULES,
    "lib": (FileMode.COMMIT, pygit2.Oid(hex="1" * 40)),
    "o\u00f6 b?.txt": b"odd",
    "binary": b"\0\xff",
}


def opened(world: World, repository_id: int) -> pygit2.Repository:
    """The files of a repository, in the thread of the test."""
    return world.components.storage.open(repository_id)


def write_history(world: World, repository_id: int) -> dict[str, str]:
    """Three commits on master, a branch and two tags; their ids by name."""
    repo = opened(world, repository_id)
    first = commit(repo, FIRST, message="first\n")
    second = commit(repo, SECOND, [first], "second\n\nwith a body\n")
    third = commit(repo, SECOND | {"README.md": b"# app\n\nmore\n"}, [second], "third\n")
    side = commit(repo, FIRST | {"side.txt": b"side\n"}, [first], "side\n")
    repo.references.create("refs/heads/master", third)
    repo.references.create("refs/heads/feature/side", side)
    repo.references.create("refs/tags/light", first)
    who = pygit2.Signature("Tagger", "ann@example.org", 1_600_000_000, 120)
    tag = str(repo.create_tag("v1.0", second, ObjectType.COMMIT, who, "version one\n"))
    return {"first": first, "second": second, "third": third, "side": side, "tag": tag}


async def repository_with_history(
    world: World, person: Any, name: str = "app", **fields: Any
) -> dict[str, Any]:
    """Create a repository with that history, also in the ledger of refs. Return ids by name, its own as
    ``id``."""
    created = await person.create(name, default_branch="master", **fields)
    oids = write_history(world, created["id"])
    names = ["refs/heads/master", "refs/heads/feature/side", "refs/tags/light", "refs/tags/v1.0"]
    async with world.components.pushes.journaled(created["id"], person.principal.id, names) as push_id:
        await world.components.pushes.settle(push_id)
    return oids | {"id": created["id"]}
