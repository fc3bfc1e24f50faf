"""A push without a server: the session needs only a conversation."""

import asyncio
import subprocess

import pytest

from ingot_chassis.errors import BadRequest, Unavailable
from ingot_contracts.repos.access import AccessLevel
from ingot_git.process.errors import ClientDisconnected
from ingot_git.protocol.smart_http import pkt_line
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.store import repositories
from ingot_repos.protection.rules.decisions import Actor
from ingot_repos.pushes.rules.pushers import Pusher
from ingot_repos.pushes.rules.sessions import PushSession

from ..world import commit, work_tree

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
ZERO = "0" * 40


class Client:
    """The conversation with a client that has said everything already."""

    is_session = takes_files = False
    protocol = None

    def __init__(self, *said):
        self.said, self.received = said, sum(map(len, said))
        self.answer, self.media_type, self.has_ended = b"", "", False

    @property
    def is_started(self):
        return bool(self.media_type)

    async def body(self):
        for part in self.said:
            yield part
        if not self.said:
            raise ClientDisconnected("the client went away")

    async def start(self, media_type):
        self.media_type = media_type

    async def write(self, part, *, more=True):
        self.answer += part
        self.has_ended = not more


@pytest.fixture
async def begin(world, ann, tmp_path):
    """Begins a session of ann's, in which a client pushes these pieces to ann/app."""
    id_ = (await ann.create("app"))["id"]

    async def never_renewed():
        raise AssertionError

    async def session(client):
        async with world.database.read() as db:
            row = await repositories.get_unfiltered(db, id_)
        pusher = Pusher(1, Actor(1, level="owner"), restricted=False)
        parts, presenter = world.components.push_parts, world.components.presenter
        await PushSession(
            parts,
            presenter,
            ResolvedRepository(row, AccessLevel(level="owner")),
            pusher,
            never_renewed,
            client,
        ).run()

    return session


@pytest.fixture
async def pieces(tmp_path):
    """The commands of a first push, and its pack."""
    work = await work_tree(tmp_path)
    new = await commit(work, "a.txt")
    pack = await asyncio.to_thread(
        subprocess.run, ["git", "pack-objects", "--revs", "--stdout", "-q"],
        cwd=work, input=f"{new}\n".encode(), capture_output=True, check=True,
    )  # fmt: skip
    line = f"{ZERO} {new} refs/heads/main\0report-status side-band-64k".encode()
    return new, pkt_line(line) + b"0000", pack.stdout


async def test_a_push_is_run_and_announced_before_its_answer_ends(world, begin, pieces):
    new, commands, pack = pieces
    client = Client(commands, pack)
    await begin(client)
    assert b"ok refs/heads/main" in client.answer
    assert (client.media_type, client.has_ended) == ("application/x-git-receive-pack-result", True)
    assert await world.rows("push") == []
    [event] = await world.events("push.received")
    assert event["after"] == new


async def test_a_client_that_leaves_before_it_has_said_anything_gets_an_error(begin):
    with pytest.raises(BadRequest, match="the client went away"):
        await begin(Client())


async def test_a_session_is_told_in_the_words_of_git_that_there_is_no_room(world, begin, pieces):
    _, commands, pack = pieces
    world.components.push_parts.admission.wait_seconds = 0.01
    most = world.settings.git_concurrency_per_repository
    slots = [world.components.admission.slot(1, signed_in=True) for _ in range(most)]
    for slot in slots:
        await slot.__aenter__()
    with pytest.raises(Unavailable):
        await begin(Client(commands, pack))
    session = Client(commands, pack)
    session.is_session = True
    await begin(session)
    assert b"too many fetches and pushes run here at once" in session.answer
    for slot in slots:
        await slot.__aexit__(None, None, None)
