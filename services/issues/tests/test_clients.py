"""Calls to repos: a grant is remembered for a while, a refusal never."""

import asyncio
from typing import Any

import msgspec
import pytest

from ingot_chassis.errors import Conflict, ErrorObject, NotFound, Unavailable
from ingot_chassis.peers.peers import Peer
from ingot_chassis.peers.transports import PeerAnswer
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import ServiceIdentity
from ingot_contracts.repos.access import ReadableRepositories
from ingot_contracts.repos.comparisons import CompareHeads, Comparisons, Head
from ingot_contracts.repos.histories import History
from ingot_contracts.repos.merges import Merge
from ingot_contracts.repos.repositories import RepositoryAccess
from ingot_issues.clients.repos import HttpRepos, Readable

from .builders import HEAD, comparison, repository


class OneAnswer:
    """A transport that gives every call the same answer, and records the paths."""

    def __init__(self, status: int, body: object) -> None:
        self.status, self.body, self.paths = status, msgspec.json.encode(body), list[str]()

    async def send(
        self,
        method: str,
        path: str,
        headers: object,
        body: bytes,
        timeout: float,  # noqa: ASYNC109
    ) -> PeerAnswer:
        self.paths.append(path)
        await asyncio.sleep(0)
        return PeerAnswer(self.status, {}, self.body)

    async def close(self) -> None: ...


def client(transport: OneAnswer, **options: Any) -> HttpRepos:
    return HttpRepos(Peer("repos", transport, ServiceIdentity("issues", SigningKey.generate())), **options)


async def test_a_grant_is_remembered_for_the_same_caller_until_it_is_dropped():
    transport = OneAnswer(200, RepositoryAccess(repository=repository(), level="write"))
    repos = client(transport)
    assert await repos.granted("ann", "app", "one") is None
    await repos.access("ann", "app", "one")
    assert await repos.granted("Ann", "APP", "one") is not None
    assert await repos.granted("ann", "app", "two") is None
    repos.drop_grants(7)
    assert await repos.granted("ann", "app", "one") is None


async def test_a_grant_ends_after_five_seconds_without_any_event():
    transport = OneAnswer(200, RepositoryAccess(repository=repository(), level="write"))
    now = 100.0
    repos = client(transport, clock=lambda: now)
    await repos.access("ann", "app", "one")
    now = 104.9
    assert await repos.granted("ann", "app", "one") is not None
    now = 105.0
    assert await repos.granted("ann", "app", "one") is None


async def test_a_refusal_ends_the_grant():
    transport = OneAnswer(200, RepositoryAccess(repository=repository(), level="write"))
    repos = client(transport)
    await repos.access("ann", "app", "one")
    transport.status, transport.body = 404, msgspec.json.encode(ErrorObject(message="no", url=""))
    with pytest.raises(NotFound):
        await repos.access("ann", "app", "one")
    assert await repos.granted("ann", "app", "one") is None


async def test_who_asks_for_access_meanwhile_gets_the_same_answer():
    transport = OneAnswer(200, RepositoryAccess(repository=repository(), level="read"))
    repos = client(transport)

    async def ask():
        return await repos.granted("ann", "app", "one") or await repos.access("ann", "app", "one")

    assert len(await asyncio.gather(*(ask() for _ in range(4)))) == 4
    assert len(transport.paths) == 1
    transport.status, transport.body = 404, msgspec.json.encode(ErrorObject(message="no", url=""))
    repos.drop_grants(7)
    refused = await asyncio.gather(*(ask() for _ in range(4)), return_exceptions=True)
    assert [type(one) for one in refused] == [NotFound] * 4
    assert len(transport.paths) == 5, "a refusal is of the question of each"
    transport.status = 503
    unanswered = await asyncio.gather(*(ask() for _ in range(4)), return_exceptions=True)
    assert [type(one) for one in unanswered] == [Unavailable] * 4
    assert len(transport.paths) == 6, "nobody waits twice for repos that is away"


async def test_the_diff_of_two_commits_is_asked_for_once():
    transport = OneAnswer(200, "-a")
    repos = client(transport)
    for form in ("diff", "diff", "patch"):
        assert await repos.diff(7, "1" * 40, HEAD, form, "one") == transport.body
    assert len(transport.paths) == 2
    assert len({await repos.diff(number, "1" * 40, HEAD, "diff", "one") for number in (7, 8)}) == 1
    assert len(transport.paths) == 3
    transport.body = b"x" * 1_000_001
    for _ in range(2):
        await repos.diff(9, "1" * 40, HEAD, "diff", "one")
    assert len(transport.paths) == 5, "a long one is not remembered"


async def test_names_are_one_segment_of_the_path():
    transport = OneAnswer(200, RepositoryAccess(repository=repository(), level="read"))
    await client(transport).access("a/b", "..?x", "")
    assert transport.paths == ["/internal/repositories/by-name/a%2Fb/..%3Fx/access"]


async def test_a_worker_compares_unattended():
    transport = OneAnswer(200, comparison())
    transport.body = msgspec.json.encode(Comparisons(comparisons=[comparison(), None]))
    heads = [Head(repository_id=7, branch=name) for name in ("x", "y")]
    comparisons = await client(transport).compare_heads(7, CompareHeads(base_branch="main", heads=heads))
    assert comparisons == [comparison(), None]
    assert transport.paths == ["/internal/repositories/7/comparisons?unattended=true"]


async def test_a_refused_merge_is_a_conflict():
    transport = OneAnswer(409, ErrorObject(message="moved", url=""))
    with pytest.raises(Conflict, match="moved"):
        await client(transport).merge(
            7, Merge(number=1, base_branch="main", head_sha=HEAD), "one", actor_id=1
        )


async def test_a_former_release_that_cannot_say_whose_reviews_count_is_waited_for():
    transport = OneAnswer(404, ErrorObject(message="no such operation", url=""))
    with pytest.raises(Unavailable, match="repos is being updated") as refused:
        await client(transport).official_reviewers(7, "main", [1])
    assert refused.value.headers == {"Retry-After": "1"}
    transport.body = msgspec.json.encode(ErrorObject(message="Not found.", url=""))
    with pytest.raises(NotFound):
        await client(transport).official_reviewers(7, "main", [1])


async def test_a_job_names_the_user_for_whom_it_asks():
    transport = OneAnswer(200, RepositoryAccess(repository=repository(), level="read"))
    repos = client(transport)
    await repos.access_of_user(3, "a/b", "..?x")
    await repos.access_of_user_by_id(3, 7)
    transport.body = msgspec.json.encode(History(commits=[], total=0))
    await repos.history(7, "", HEAD, None, limit=5)
    await repos.history(7, HEAD, HEAD, "one", offset=5, limit=5)
    assert transport.paths == [
        "/internal/repositories/by-name/a%2Fb/..%3Fx/access?user=3",
        "/internal/repositories/7/access?user=3",
        f"/internal/repositories/7/commits?base=&head={HEAD}&offset=0&limit=5&unattended=true",
        f"/internal/repositories/7/commits?base={HEAD}&head={HEAD}&offset=5&limit=5",
    ]


async def test_a_branch_to_be_deleted_is_one_path_whatever_it_is_called():
    transport = OneAnswer(204, None)
    for principal_token in ("one", None):
        await client(transport).delete_branch(7, "fix/a?b#c%d", HEAD, principal_token, actor_id=3)
    path = f"/internal/repositories/7/branches/fix/a%3Fb%23c%25d?tip={HEAD}"
    assert transport.paths == [path, f"{path}&user=3"]


async def test_readable_repositories_are_read_a_thousand_at_a_time():
    transport = OneAnswer(200, ReadableRepositories(ids=[7]))
    assert await client(transport).readable({9, 7}, "one") == Readable({7}, set(), set())
    assert (await client(transport).readable(range(1, 2002), "one")).ids == {7}
    assert transport.paths == ["/internal/readable-repositories"] * 4


async def test_pull_requests_are_readable_with_the_code_alone():
    answer = ReadableRepositories(ids=[5, 6, 7, 8], unreadable={"issues": [6], "pulls": [7], "code": [8]})
    readable = await client(OneAnswer(200, answer)).readable({5, 6, 7, 8, 9}, "one")
    assert readable == Readable({5, 6, 7, 8}, {6}, {7, 8})
    assert readable.entire == {5}
