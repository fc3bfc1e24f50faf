"""Every git command over SSH, with every kind of key, at every kind of repository: as over HTTP, and no more.

The gate tries pairs, as the matrix of routes does; ``INGOT_SAFETY=whole`` all combinations.
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Literal, NamedTuple

import asyncssh

from .rules import COLLABORATORS, MEMBERS, OWNER, READ, REPOSITORIES, WRITE, Caller, Target, level
from .test_matrix import WHOLE
from .world import ABSENT, World

ARCHIVE = b"0012argument HEAD\n0000"
END = b"0000"
COMMANDS = {
    "git-upload-pack {}": (READ, END),
    "git-upload-archive {}": (READ, ARCHIVE),
    "git-receive-pack {}": (WRITE, END),
    "git-lfs-authenticate {} download": (READ, b""),
    "git-lfs-authenticate {} upload": (WRITE, b""),
}
"""Each with the access that it needs, and what a client says that wants nothing more."""
PROPOSES = "git-receive-pack {}"
"""Users who may read may propose commits."""
UNKNOWN = "there is no repository"
Outcome = Literal["open", "refused", "absent", "no sign-in"]


class Holder(NamedTuple):
    """The holder of a key: a ``person``, or a deploy key that has ``access`` to the targets or to another
    repository."""

    name: str
    person: str = ""
    access: int = 0
    foreign: bool = False


HOLDERS = (
    Holder("nobody"),
    Holder("suspended", "susi"),
    Holder("stranger", "sam"),
    *(Holder(f"collaborator {name}", name) for name in COLLABORATORS),
    *(Holder(f"member {name}", name) for name in MEMBERS if name != OWNER),
    Holder("owner", OWNER),
    Holder("administrator of the site", "root"),
    Holder("deploy key that reads", access=READ),
    Holder("deploy key that writes", access=WRITE),
    Holder("deploy key of another repository", access=WRITE, foreign=True),
)


class Cell(NamedTuple):
    command: str
    holder: Holder
    target: Target


def cells() -> Iterator[Cell]:
    """Pairwise: the kind of repository moves on with the command and with the key."""
    for row, command in enumerate(COMMANDS):
        for column, holder in enumerate(HOLDERS):
            for target in REPOSITORIES if WHOLE else (REPOSITORIES[(row + column) % len(REPOSITORIES)],):
                yield Cell(command, holder, target)


def expected(cell: Cell) -> Outcome:
    holder, (needed, _) = cell.holder, COMMANDS[cell.command]
    if holder.name in ("nobody", "suspended"):
        return "no sign-in"
    if holder.foreign:
        return "absent"
    has = holder.access or level(Caller(holder.name, holder.person), cell.target)
    if not has:
        return "absent"
    if holder.person and cell.command == PROPOSES:
        needed = READ
    writes = COMMANDS[cell.command][0] == WRITE
    return "refused" if has < needed or (writes and cell.target.archived) else "open"


def keys(world: World) -> dict[Holder, asyncssh.SSHKey]:
    """A key for each holder, who can sign in with it if anybody can."""
    of_holders = {holder: asyncssh.generate_private_key("ssh-ed25519") for holder in HOLDERS}
    for holder, key in of_holders.items():
        body = {"title": holder.name, "key": key.export_public_key().decode()}
        if holder.person:
            world.do("root", "POST", f"admin/users/{holder.person}/keys", **body)
        elif holder.access:
            paths = (
                [f"{OWNER}/else"]
                if holder.foreign
                else [f"{each.owner}/{each.repo}" for each in REPOSITORIES]
            )
            for path in paths:
                world.do(OWNER, "POST", f"repos/{path}/keys", **body, read_only=holder.access == READ)
    return of_holders


class Answer(NamedTuple):
    code: int | None
    words: str


async def run(connection: asyncssh.SSHClientConnection, command: str, path: str) -> Answer:
    """``words`` are those of a refusal, without the path."""
    process = await connection.create_process(command.format(f"'{path}'"), encoding=None)
    with suppress(BrokenPipeError):  # refused before it was said
        process.stdin.write(COMMANDS[command][1])
        process.stdin.write_eof()
    result = await process.wait()
    assert isinstance(result.stderr, bytes)
    return Answer(result.exit_status, result.stderr.decode().replace(path, "PATH"))


async def test_every_command_opens_for_those_who_may_and_for_nobody_else(ingot, world):
    port, wrong, count = ingot.serve_ssh(), [], 0
    of_holders = await asyncio.to_thread(keys, world)

    async def attempt(connection: asyncssh.SSHClientConnection, cell: Cell) -> None:
        outcome, target = expected(cell), cell.target
        answer = await run(connection, cell.command, f"{target.owner}/{target.repo}")
        absent = await run(connection, cell.command, f"{target.owner}/{ABSENT}")
        is_right = {
            "open": answer.code == 0,
            "refused": answer.code == 1 and UNKNOWN not in answer.words,
            "absent": answer == absent and UNKNOWN in answer.words,
            "no sign-in": False,
        }
        if not is_right[outcome] or absent.code != 1 or UNKNOWN not in absent.words:
            wrong.append(f"{cell.command} | {cell.holder.name} | {target.name}: {answer} and not {outcome}")

    async def attempt_all(holder: Holder) -> None:
        nonlocal count
        own = [cell for cell in cells() if cell.holder == holder]
        count += len(own)
        login = {"username": "git", "client_keys": [of_holders[holder]], "known_hosts": None, "config": None}
        try:
            async with asyncssh.connect("127.0.0.1", port, **login) as connection:
                for cell in own:
                    await attempt(connection, cell)
        except asyncssh.PermissionDenied:
            wrong.extend(f"{cell}: no sign-in" for cell in own if expected(cell) != "no sign-in")

    for holder in HOLDERS:
        await attempt_all(holder)
    print(f"{count} cells of SSH")
    assert not wrong, "\n".join(wrong)
