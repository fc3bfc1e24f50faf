"""Pull requests: proposing, following pushes, merging once."""

import asyncio
from typing import Any

import msgspec
import pytest

from ingot_chassis.errors import Conflict, NotFound, Unavailable
from ingot_contracts.identity import User
from ingot_contracts.pulls import Merged
from ingot_contracts.repos import Level, RepositoryDeleted, RepositoryEdited, RepositoryForked

from .builders import BASE, HEAD, JOINED, NEXT, comparison, push, repository
from .conftest import World

PULL = {"title": "Fix", "head": "fix", "base": "main"}


async def propose(world: World, *, as_: int = 2, **fields: Any) -> dict[str, Any]:
    answer = await world.call("POST", "/pulls", PULL | fields, as_=as_)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def told(world: World) -> list[tuple[str, bool]]:
    events = await world.events("issues.pull.changed.v1")
    return [(event["action"], event["pull_request"]["merged"]) for event in events]


async def test_a_pull_request_has_the_declared_shape(world: World) -> None:
    await world.call("POST", "/issues", {"title": "first"})
    pull = await propose(world)
    assert (pull["number"], pull["state"], pull["mergeable"], pull["merged"]) == (2, "open", True, False)
    assert pull["html_url"].endswith("ann/app/pulls/2")
    assert (pull["base"]["ref"], pull["base"]["sha"], pull["base"]["repo"]["id"]) == ("main", BASE, 7)
    assert (pull["head"]["label"], pull["head"]["sha"], pull["head"]["repo_id"]) == ("fix", HEAD, 7)
    assert (await world.call("GET", "/pulls/2", as_=3)).json()["title"] == "Fix"
    assert (await world.call("GET", "/issues/2")).json()["pull_request"] == {
        "merged": False,
        "merged_at": None,
    }
    assert (await world.call("GET", "/pulls/1")).status_code == 404
    assert [found["number"] for found in (await world.call("GET", "/pulls")).json()] == [2]


async def test_a_pull_request_counts_apart_from_issues(world: World) -> None:
    await propose(world)
    assert await world.counted() == (0, 1)
    assert await told(world) == [("opened", False)]


async def test_a_reader_proposes_from_a_fork_of_their_own_only(world: World) -> None:
    assert (await world.call("POST", "/pulls", PULL, as_=4)).status_code == 403
    pull = await propose(world, as_=4, head="dan:fix")
    assert (pull["head"]["repo_id"], pull["head"]["repo"]["full_name"]) == (8, "dan/app")
    assert (await world.call("POST", "/pulls", PULL | {"head": "dan:other"}, as_=3)).status_code == 403


async def test_the_address_behind_a_fork_is_for_those_who_are_signed_in(world: World) -> None:
    owner = User(id=4, login="dan", email="dan@example.org")
    world.repos.repositories[8] = msgspec.structs.replace(
        repository(8, owner=4, parent=repository()), owner=owner
    )
    await propose(world, as_=4, head="dan:fix")
    for path in ("/pulls", "/pulls/1"):
        shown = [(await world.call("GET", path, as_=reader)).text for reader in (3, 0)]
        assert ["dan@example.org" in text for text in shown] == [True, False]


async def test_a_fork_with_another_name_is_found_by_its_owner(world: World) -> None:
    fork = repository(8, owner=4, parent=repository(), name="mine")
    world.repos.repositories[8] = fork
    await world.hear(RepositoryForked(forkee=repository(), repository=fork, sender=User(id=4, login="dan")))
    await world.call("POST", "/issues", {"title": "so that there is a copy of the account"}, as_=4)
    assert (await propose(world, as_=4, head="dan:fix"))["head"]["repo"]["name"] == "mine"


async def test_a_fork_with_another_name_is_found_after_a_push_and_an_edit(world: World) -> None:
    fork, told = repository(8, owner=4, parent=repository(), name="mine"), repository(8, owner=4, name="mine")
    world.repos.repositories[8] = fork
    dan = User(id=4, login="dan")
    await world.hear(RepositoryForked(forkee=repository(), repository=fork, sender=dan))
    await world.hear(push("refs/heads/fix", of=told))
    await world.hear(RepositoryEdited(repository=told, sender=dan))
    await world.call("POST", "/issues", {"title": "so that there is a copy of the account"}, as_=4)
    assert (await propose(world, as_=4, head="dan:fix"))["head"]["repo"]["name"] == "mine"


@pytest.mark.parametrize("head", ["cat:fix", "nobody:fix", "dan:fix:more", ":fix", "dan:"])
async def test_a_head_that_is_not_there_is_not_found(world: World, head: str) -> None:
    assert (await world.call("POST", "/pulls", PULL | {"head": head}, as_=1)).status_code == 404


async def test_a_missing_branch_is_not_found(world: World) -> None:
    world.repos.compared = NotFound()
    assert (await world.call("POST", "/pulls", PULL)).status_code == 404


async def test_nothing_to_merge_is_refused(world: World) -> None:
    world.repos.compared = comparison(commits=0)
    assert (await world.call("POST", "/pulls", PULL)).status_code == 422


async def test_the_same_branches_are_proposed_once_at_a_time(world: World) -> None:
    await propose(world)
    assert (await world.call("POST", "/pulls", PULL)).status_code == 409
    await world.call("PATCH", "/pulls/1", {"state": "closed"})
    assert (await propose(world))["number"] == 2
    assert (await world.call("PATCH", "/pulls/1", {"state": "open"})).status_code == 409


@pytest.mark.parametrize("fields", [{"empty": True}, {"mirror": True}])
async def test_empty_repositories_and_mirrors_have_no_pull_requests(
    world: World, fields: dict[str, Any]
) -> None:
    world.repos.repositories[7] = repository(**fields)
    assert (await world.call("GET", "/pulls")).status_code == 404


async def test_diff_and_patch_are_text(world: World) -> None:
    await propose(world)
    for form in ("diff", "patch"):
        answer = await world.call("GET", f"/pulls/1.{form}", as_=0)
        assert answer.text == f"{form} a b"
        assert answer.headers["content-type"].startswith("text/plain")


async def test_a_private_fork_of_a_public_repository_is_shown_to_its_people_only(world: World) -> None:
    world.repos.repositories[8] = repository(8, owner=4, parent=repository(), private=True)
    await propose(world, as_=4, head="dan:fix")
    assert (await world.call("GET", "/pulls/1", as_=4)).json()["head"]["repo"]["private"]
    assert (await world.call("GET", "/pulls/1", as_=3)).json()["head"]["repo"] is None


async def test_events_show_the_private_fork_of_a_public_repository_to_nobody(world: World) -> None:
    world.repos.repositories[8] = repository(8, owner=4, parent=repository(), private=True)
    await propose(world, as_=4, head="dan:fix")
    await world.call("PATCH", "/pulls/1", {"title": "other"}, as_=4)
    for event in await world.events("issues.pull.changed.v1"):
        assert (event["pull_request"]["head"]["repo_id"], event["pull_request"]["head"]["repo"]) == (8, None)


async def test_what_only_the_actor_may_know_of_a_repository_is_told_to_nobody(world: World) -> None:
    parent = repository(9, name="secret", private=True)
    known = {"parent": parent, "original_url": "https://secret.example", "mirror_interval": "8h0m0s"}
    fork = repository(8, owner=4, **known | {"parent": repository()})
    world.repos.repositories |= {7: repository(**known), 8: fork}
    await propose(world, as_=4, head="dan:fix")
    await world.call("POST", "/issues", {"title": "x"})
    await world.call("POST", "/issues/2/comments", {"body": "x"})
    for event in await world.events():
        assert b"secret" not in msgspec.json.encode(event)
        assert b"8h0m0s" not in msgspec.json.encode(event)
    shown = (await world.call("GET", "/pulls/1", as_=3)).json()["head"]["repo"]
    assert (shown["parent"], shown["original_url"], shown["mirror_interval"]) == (None, "", "")


async def test_a_pull_request_outlives_its_fork(world: World) -> None:
    pull = await propose(world, as_=4, head="dan:fix")
    gone = RepositoryDeleted(repository=repository(8, owner=4), sender=User(id=4, login="dan"))
    await world.hear(gone)
    shown = (await world.call("GET", "/pulls/1")).json()["head"]
    assert (shown["sha"], shown["repo"]) == (pull["head"]["sha"], None)


async def test_merging_is_recorded_and_told_once(world: World) -> None:
    await propose(world)
    assert (await world.call("GET", "/pulls/1/merge")).status_code == 404
    merged = await world.call("POST", "/pulls/1/merge", None)
    assert (merged.status_code, merged.content) == (200, b"")
    assert (await world.call("GET", "/pulls/1/merge")).status_code == 204
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["merged"], pull["state"], pull["merge_commit_sha"]) == (True, "closed", JOINED)
    assert (pull["merged_by"]["login"], pull["merged_at"] is None) == ("ann", False)
    assert await told(world) == [("opened", False), ("closed", True)]
    assert await world.counted() == (0, 0)
    again = await world.call("POST", "/pulls/1/merge")
    assert (again.status_code, again.content) == (405, b"")
    assert (await world.call("PATCH", "/pulls/1", {"state": "open"})).status_code == 409
    assert len(world.repos.merges) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"Do": "squash", "MergeTitleField": "One", "MergeMessageField": "two", "head_commit_id": HEAD},
        {"do": "squash", "merge_title_field": "One", "merge_message_field": "two", "HeadCommitId": HEAD},
    ],
)
async def test_style_and_message_are_passed_on(world: World, body: dict[str, str]) -> None:
    await propose(world)
    assert (await world.call("POST", "/pulls/1/merge", body)).status_code == 200
    [asked] = world.repos.merges
    assert (asked.style, asked.title, asked.message, asked.head_sha) == ("squash", "One", "two", HEAD)
    assert (await world.call("POST", "/pulls/1/merge", {"Do": "magic"})).status_code == 422


async def test_merging_at_once_merges_once(world: World) -> None:
    await propose(world)
    answers = await asyncio.gather(*(world.call("POST", "/pulls/1/merge") for _ in range(4)))
    assert min(answer.status_code for answer in answers) == 200
    assert {answer.status_code for answer in answers} <= {200, 405, 409}
    assert len(world.repos.merges) == 1
    assert await told(world) == [("opened", False), ("closed", True)]


@pytest.mark.parametrize(
    ("compared", "merged", "body", "status"),
    [
        (comparison(mergeable=False), None, {}, 405),
        (comparison(), Conflict("moved"), {}, 409),
        (comparison(head_sha=NEXT), None, {"head_commit_id": HEAD}, 409),
    ],
)
async def test_what_cannot_be_merged_stays_open(
    world: World, compared: Any, merged: Any, body: dict[str, str], status: int
) -> None:
    await propose(world)
    world.repos.compared, world.repos.merged = compared, merged
    assert (await world.call("POST", "/pulls/1/merge", body)).status_code == status
    assert (await world.call("GET", "/pulls/1")).json()["state"] == "open"
    world.repos.compared, world.repos.merged = comparison(), Merged(sha=JOINED)
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200


async def test_closed_is_not_merged_and_unknown_is_not_found(world: World) -> None:
    await propose(world)
    await world.call("PATCH", "/pulls/1", {"state": "closed"})
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 405
    assert (await world.call("POST", "/pulls/9/merge")).status_code == 404
    assert (await world.call("POST", "/pulls/1/merge", as_=3)).status_code == 403


async def test_a_merge_whose_answer_is_lost_is_recorded_by_its_push(world: World) -> None:
    await propose(world)
    world.repos.merged = Unavailable()
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 503
    for _ in range(2):
        await world.hear(push(after=JOINED, merged_pull=1))
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["merged"], pull["merge_commit_sha"], pull["merged_by"]["login"]) == (True, JOINED, "bob")
    assert await told(world) == [("opened", False), ("closed", True)]
    assert len(world.repos.merges) == 1


async def test_a_merge_whose_answer_is_lost_may_be_asked_for_again(world: World) -> None:
    await propose(world)
    world.repos.merged = Unavailable()
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 503
    world.repos.merged = Merged(sha=JOINED, already=True)
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200
    await world.hear(push(after=JOINED, merged_pull=1))
    assert await told(world) == [("opened", False), ("closed", True)]


async def test_a_push_to_the_base_that_brings_the_head_merges(world: World) -> None:
    await propose(world)
    await world.workers.step()
    await world.hear(push(after=NEXT))
    assert not (await world.call("GET", "/pulls/1")).json()["mergeable"]
    world.repos.compared = comparison(base_sha=NEXT, commits=0)
    await world.workers.step()
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["merged"], pull["merge_commit_sha"]) == (True, NEXT)
    assert await told(world) == [("opened", False), ("closed", True)]


@pytest.mark.parametrize("refs", [("fix", "main"), ("main", "fix")])
@pytest.mark.parametrize("apart", [True, False])
async def test_a_push_of_head_and_base_together_merges(
    world: World, refs: tuple[str, str], *, apart: bool
) -> None:
    await propose(world)
    await world.workers.step()
    world.repos.compared = comparison(base_sha=NEXT, head_sha=NEXT, merge_base=NEXT, commits=0)
    for ref in refs:
        await world.hear(push(f"refs/heads/{ref}", after=NEXT))
        if apart:
            await world.workers.step()
    while await world.workers.step():
        pass
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["merged"], pull["merge_commit_sha"], pull["head"]["sha"]) == (True, NEXT, NEXT)
    assert await told(world) == [("opened", False), ("synchronized", False), ("closed", True)]


async def test_a_head_that_goes_back_to_the_base_is_not_merged(world: World) -> None:
    await propose(world)
    await world.workers.step()
    world.repos.compared = comparison(base_sha=NEXT, head_sha=BASE, commits=0)
    await world.hear(push("refs/heads/fix", after=BASE))
    await world.hear(push(after=NEXT))
    while await world.workers.step():
        pass
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["merged"], pull["state"], pull["head"]["sha"]) == (False, "open", BASE)


async def test_a_push_to_the_base_is_checked_for_conflicts(world: World) -> None:
    await propose(world)
    await world.hear(push(after=NEXT))
    world.repos.compared = comparison(base_sha=NEXT)
    await world.workers.step()
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["mergeable"], pull["base"]["sha"]) == (True, NEXT)
    assert await told(world) == [("opened", False)]


async def test_a_push_to_the_head_synchronizes(world: World) -> None:
    await propose(world, as_=4, head="dan:fix")
    await world.workers.step()
    world.repos.compared = comparison(head_sha=NEXT)
    await world.hear(push("refs/heads/fix", of=repository(8, owner=4)))
    await world.workers.step()
    assert (await world.call("GET", "/pulls/1")).json()["head"]["sha"] == NEXT
    assert await told(world) == [("opened", False), ("synchronized", False)]


@pytest.mark.parametrize(("level", "branch"), [("none", ""), ("write", "fix")])
async def test_a_private_head_is_followed_for_as_long_as_its_author_may_read_it(
    world: World, level: Level, branch: str
) -> None:
    """Without a branch, what is kept of it is compared."""
    await propose(world, as_=4, head="dan:fix")
    await world.workers.step()
    world.repos.compares.clear()
    hidden = world.repos.repositories[8] = repository(8, owner=1, private=True)
    world.repos.levels[(8, 4)] = level
    await world.hear(RepositoryEdited(repository=hidden, sender=User(id=4, login="dan")))
    await world.hear(push("refs/heads/fix", of=hidden))
    await world.hear(push(after=NEXT))
    assert await world.workers.step() == 2
    assert [(one.number, one.head_branch) for one in world.repos.compares] == [(1, branch)] * 2


async def test_a_push_elsewhere_checks_nothing(world: World) -> None:
    await propose(world)
    await world.workers.step()
    for ref in ("refs/heads/other", "refs/tags/main"):
        await world.hear(push(ref))
    assert await world.workers.step() == 0


async def test_everything_of_a_deleted_repository_goes(world: World) -> None:
    await propose(world)
    await world.call("POST", "/issues", {"title": "x"})
    await world.hear(RepositoryDeleted(repository=repository(), sender=User(id=1, login="ann")))
    assert (await world.call("GET", "/issues?state=all")).json() == []
    assert (await world.call("POST", "/issues", {"title": "too late"})).status_code == 404
