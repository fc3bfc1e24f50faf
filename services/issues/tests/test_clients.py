"""Asking repos: a yes is remembered for a while, a no never."""

from typing import Any

import msgspec
import pytest

from ingot_chassis.errors import Conflict, ErrorObject, NotFound
from ingot_chassis.keys import SigningKey
from ingot_chassis.peers import Peer, PeerAnswer
from ingot_chassis.principal import ServiceIdentity
from ingot_contracts.pulls import CompareHeads, Comparisons, Head, History, Merge
from ingot_contracts.repos import RepositoryAccess, Seen
from ingot_issues.clients.repos import ReposPeer

from .builders import HEAD, comparison, repository


class Wire:
    """Answers every call with the same, and keeps the paths."""

    def __init__(self, status: int, body: object) -> None:
        self.status, self.body, self.paths = status, msgspec.json.encode(body), list[str]()

    async def send(self, method: str, path: str, headers: object, body: bytes, timeout: float) -> PeerAnswer:  # noqa: ASYNC109
        self.paths.append(path)
        return PeerAnswer(self.status, {}, self.body)

    async def close(self) -> None: ...


def repos(wire: Wire, **options: Any) -> ReposPeer:
    return ReposPeer(Peer("repos", wire, ServiceIdentity("issues", SigningKey.generate())), **options)


async def test_a_yes_is_remembered_for_the_same_caller_until_it_is_dropped() -> None:
    wire = Wire(200, RepositoryAccess(repository=repository(), level="write"))
    asked = repos(wire)
    assert asked.remembered("ann", "app", "one") is None
    await asked.access("ann", "app", "one")
    assert asked.remembered("Ann", "APP", "one") is not None
    assert asked.remembered("ann", "app", "two") is None
    asked.forget(7)
    assert asked.remembered("ann", "app", "one") is None


async def test_a_yes_is_forgotten_within_five_seconds_though_no_event_comes() -> None:
    wire = Wire(200, RepositoryAccess(repository=repository(), level="write"))
    now = 100.0
    asked = repos(wire, clock=lambda: now)
    await asked.access("ann", "app", "one")
    now = 104.9
    assert asked.remembered("ann", "app", "one") is not None
    now = 105.0
    assert asked.remembered("ann", "app", "one") is None


async def test_a_no_drops_what_is_remembered() -> None:
    wire = Wire(200, RepositoryAccess(repository=repository(), level="write"))
    asked = repos(wire)
    await asked.access("ann", "app", "one")
    wire.status, wire.body = 404, msgspec.json.encode(ErrorObject(message="no", url=""))
    with pytest.raises(NotFound):
        await asked.access("ann", "app", "one")
    assert asked.remembered("ann", "app", "one") is None


async def test_names_are_one_segment_of_the_path() -> None:
    wire = Wire(200, RepositoryAccess(repository=repository(), level="read"))
    await repos(wire).access("a/b", "..?x", "")
    assert wire.paths == ["/internal/repositories/a%2Fb/..%3Fx/access"]


async def test_a_worker_compares_unattended() -> None:
    wire = Wire(200, comparison())
    wire.body = msgspec.json.encode(Comparisons(found=[comparison(), None]))
    heads = [Head(repository_id=7, branch=name) for name in ("x", "y")]
    found = await repos(wire).compare_heads(7, CompareHeads(base_branch="main", heads=heads))
    assert found == [comparison(), None]
    assert wire.paths == ["/internal/repositories/7/comparisons?unattended=true"]


async def test_a_refused_merge_is_a_conflict() -> None:
    wire = Wire(409, ErrorObject(message="moved", url=""))
    with pytest.raises(Conflict, match="moved"):
        await repos(wire).merge(7, Merge(number=1, base_branch="main", head_sha=HEAD), "one")


async def test_what_a_worker_asks_names_the_person_it_asks_for() -> None:
    wire = Wire(200, RepositoryAccess(repository=repository(), level="read"))
    asked = repos(wire)
    await asked.access_of(3, "a/b", "..?x")
    await asked.access_of_by_id(3, 7)
    wire.body = msgspec.json.encode(History(commits=[], total=0))
    await asked.history(7, "", HEAD, None, limit=5)
    await asked.history(7, HEAD, HEAD, "one", offset=5, limit=5)
    assert wire.paths == [
        "/internal/repositories/a%2Fb/..%3Fx/access?user=3",
        "/internal/repositories/by-id/7/access?user=3",
        f"/internal/repositories/7/commits?base=&head={HEAD}&offset=0&limit=5&unattended=true",
        f"/internal/repositories/7/commits?base={HEAD}&head={HEAD}&offset=5&limit=5",
    ]


async def test_a_branch_to_be_deleted_is_one_path_whatever_it_is_called() -> None:
    wire = Wire(204, None)
    for statement in ("one", None):
        await repos(wire).take_branch(7, "fix/a?b#c%d", HEAD, statement, actor_id=3)
    path = f"/internal/repositories/7/branches/fix/a%3Fb%23c%25d?tip={HEAD}"
    assert wire.paths == [path, f"{path}&user=3"]


async def test_only_what_repos_shows_is_seen() -> None:
    wire = Wire(200, Seen(ids=[7]))
    assert await repos(wire).seen({9, 7}, "one") == {7}
    assert await repos(wire).seen(range(1, 2002), "one") == {7}
    assert wire.paths == ["/internal/seen"] * 4
