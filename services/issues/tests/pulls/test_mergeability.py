"""After pushes: which pull requests are compared again, how often, and what that costs."""

import asyncio
from collections.abc import Iterable

import msgspec
import pytest
from sqlalchemy import delete, select, text, update

from ingot_chassis.clock import now
from ingot_chassis.db.migrations import upgrade
from ingot_contracts.identity.accounts import User
from ingot_contracts.identity.events import UserEdited
from ingot_contracts.repos.events import RepositoryEdited
from ingot_issues.merges.jobs.comparisons import COMPARE_AGAIN
from ingot_issues.migrations import SCRIPTS
from ingot_issues.repositories.store import counters
from ingot_testing.service import count_statements, unprepared_statements, wait_until_blocked

from ..builders import (
    APP,
    BASE,
    FORK,
    HEAD,
    JOINED,
    NEXT,
    account,
    comparison,
    fill,
    history_commit,
    push,
    repository,
)
from ..world import World

LATER_TABLES = (
    "attachment", "dependency", "file_view", "issue_subscription", "mention", "notification", "reaction",
    "review_comment", "review",
    "scheduled_merge", "stopwatch", "team", "text_editor", "reply_by_mail", "import_cursor",
    "imported_file", "imported_object", "placeholder",
)  # fmt: skip
LATER_COLUMNS = (
    "account.profile", "account.granted_only", "counter.deleted_issues", "issue.content_version",
    "issue.pin_order", "issue.ref",
    "pull.original_merger", "pull.additions", "pull.allow_maintainer_edit",
    "pull.changed_files", "pull.deletions", "pull.head_hidden", "pull.head_tip", "label.description",
    "label.exclusive", "label.is_archived", "label.organization_id",
    "milestone.created_at", "milestone.updated_at", "outbox.dead_lettered_at", "repository.has_issues",
    "repository.has_pulls", "issue.original_author", "issue.original_author_id", "comment.original_author",
    "comment.original_author_id",
)  # fmt: skip
LATER_INDEXES_OF_SQLITE = tuple(
    statement
    for table in ("issue", "comment")
    for statement in (
        *(f"DROP TRIGGER {table}_trigrams_{change}" for change in ("insert", "update", "delete")),
        f"DROP TABLE {table}_trigrams",
    )
)
"""Additions of revisions after the fifth."""


async def test_all_pull_requests_of_a_base_are_compared_in_one_call(world):
    heads = [*(f"fix{number}" for number in range(4)), "dan:fix"]
    await world.propose_many(*heads)
    world.repos.comparison = comparison(base_sha=NEXT)
    await world.deliver(push(after=NEXT))
    assert await world.workers.step() == 1
    assert world.repos.operations() == ["comparisons"]
    compared = [(one.number, one.head_repository_id, one.head_branch) for one in world.comparisons()]
    assert compared == [
        *((number + 1, APP, f"fix{number}") for number in range(4)),
        (5, FORK, "fix"),
    ]
    shown = (await world.call("GET", "/pulls?limit=50")).json()
    assert {(pull["mergeable"], pull["base"]["sha"]) for pull in shown} == {(True, NEXT)}


async def filled(world: World, count: int) -> None:
    """``count`` pull requests, and the copies of the repositories that come with the first of them."""
    await world.create_label()
    await world.create_milestone()
    await world.propose_many("dan:fix")
    await fill(world.db, 2, 2 * count - 2)


async def test_more_than_100_are_compared_in_several_calls(world):
    await filled(world, 101)
    await world.deliver(push(after=NEXT))
    assert await world.workers.step() == 2
    assert (world.repos.operations(), len(world.comparisons())) == (["comparisons"] * 2, 101)


@pytest.mark.parametrize("count", [2, 30])
async def test_a_push_takes_as_many_statements_for_many_pull_requests_as_for_few(world, count):
    await filled(world, count)
    world.repos.comparison = comparison(base_sha=NEXT)
    with count_statements(world.db) as statements:
        await world.deliver(push(after=NEXT))
        await world.workers.step()
    assert len(world.comparisons()) == count
    assert len(statements) == 21


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_the_statements_of_a_push_are_prepared(world):
    await world.propose_many("fix")
    with unprepared_statements(world.db) as statements:
        await world.deliver(push("refs/heads/other", after=NEXT))
    assert statements == []


async def test_each_comparison_is_recorded(world):
    await world.propose_many("fits", "conflicts", "gone", "moved", "joined")
    world.repos.comparisons = {
        (APP, "fits"): comparison(base_sha=NEXT),
        (APP, "conflicts"): comparison(base_sha=NEXT, mergeable=False),
        (APP, "gone"): None,
        (APP, "moved"): comparison(base_sha=NEXT, head_sha="1" * 40),
        (APP, "joined"): comparison(base_sha=NEXT, commits=0),
    }
    await world.deliver(push(after=NEXT))
    await world.workers.step()
    shown = {pull["head"]["ref"]: pull for pull in (await world.call("GET", "/pulls")).json()}
    assert {name: (pull["mergeable"], pull["base"]["sha"]) for name, pull in shown.items()} == {
        "fits": (True, NEXT),
        "conflicts": (False, NEXT),
        "gone": (False, BASE),
        "moved": (True, NEXT),
        "joined": (False, NEXT),
    }
    assert {name for name, pull in shown.items() if pull["merged"]} == {"joined"}
    assert (shown["moved"]["head"]["sha"], shown["fits"]["head"]["sha"]) == ("1" * 40, HEAD)
    assert (await world.pull_actions())[5:] == [("synchronized", False), ("closed", True)]


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_a_comparison_is_made_again_soon_however_often_another_one_was_recorded_meanwhile(world):
    await world.propose_many("fix")
    world.repos.comparison = comparison(base_sha=NEXT)
    await world.deliver(push(after=NEXT))
    job, pull = (world.db.metadata.tables[name] for name in ("job", "pull"))
    async with world.db.transaction() as tx:
        await tx.execute(update(job).values(attempts=9))
    async with world.db.transaction() as tx:
        await counters.lock(tx, APP)
        step = asyncio.create_task(world.workers.step())
        await wait_until_blocked(tx, step)
        await tx.execute(update(pull).values(base_sha=JOINED))
    assert await step == 1
    async with world.db.transaction() as tx:
        [waiting] = (await tx.execute(select(job).where(job.c.state == "waiting"))).all()
        assert waiting.run_at - now() <= COMPARE_AGAIN
        await tx.execute(update(job).where(job.c.id == waiting.id).values(run_at=now()))
    assert await world.workers.step() == 1
    shown = (await world.call("GET", "/pulls/1")).json()
    assert (shown["mergeable"], shown["base"]["sha"]) == (True, NEXT)


@pytest.mark.parametrize(("ref", "after"), [("refs/heads/main", BASE), ("refs/heads/fix", HEAD)])
async def test_a_comparison_after_the_push_is_not_repeated(world, ref, after):
    await world.propose_many("fix")
    await world.deliver(push(ref, after=after))
    assert await world.workers.step() == 0
    assert (await world.call("GET", "/pulls/1")).json()["mergeable"] is True


async def test_a_push_there_and_back_is_compared_as_it_ends(world):
    await world.propose_many("fix")
    for after in (NEXT, BASE):
        await world.deliver(push(after=after))
    assert (await world.call("GET", "/pulls/1")).json()["mergeable"] is False
    assert await world.workers.step() == 2
    assert (await world.call("GET", "/pulls/1")).json()["mergeable"] is True


async def test_a_check_of_an_older_release_is_done(world):
    await world.propose_many("fix")
    world.repos.comparison = comparison(base_sha=NEXT)
    await world.deliver(push(after=NEXT))
    job = world.db.metadata.tables["job"]
    old = {"issue_id": 1, "pushed": NEXT, "pusher_id": 2, "side": "base"}
    gone = {**old, "issue_id": 999}
    async with world.db.transaction() as tx:
        [waiting] = (await tx.execute(select(job).where(job.c.state == "waiting"))).all()
        values = {**waiting._mapping, "kind": "pull.check"}
        await tx.execute(delete(job))
        for number, payload in enumerate((old, gone)):
            more = {"id": 90 + number, "key": str(number), "payload": msgspec.json.encode(payload)}
            await tx.execute(job.insert().values(values | more))
        for back in (
            *(f"DROP TABLE {table}" for table in LATER_TABLES),
            "DROP INDEX ix_outbox_dead_lettered",
            "DROP INDEX ix_label_organization_id",
            "DROP INDEX ix_pull_merge",
            "DROP INDEX ix_pull_head_sha",
            "DROP INDEX ix_pull_head_tip",
            "DROP INDEX ix_issue_of_author",
            *(LATER_INDEXES_OF_SQLITE if world.db.is_sqlite else ()),
            *(f"ALTER TABLE {column.replace('.', ' DROP COLUMN ')}" for column in LATER_COLUMNS),
            "UPDATE alembic_version SET version_num = '0005'",
        ):
            await tx.execute(text(back))
    url = world.db.url.render_as_string(hide_password=False)
    await asyncio.to_thread(lambda: asyncio.run(upgrade(url, SCRIPTS)))
    assert await world.workers.step() == 1
    shown = (await world.call("GET", "/pulls/1")).json()
    assert (shown["mergeable"], shown["base"]["sha"]) == (True, NEXT)


async def test_a_pull_request_with_another_base_since_is_not_compared(world):
    await world.propose_many("fix")
    await world.deliver(push(after=NEXT))
    await world.call("PATCH", "/pulls/1", {"base": "next"})
    world.repos.calls.clear()
    await world.workers.step()
    assert world.comparisons() == []


async def test_a_push_to_a_head_checks_each_base_it_is_proposed_for(world):
    await world.propose_many("fix")
    await world.propose(base="stable")
    await world.workers.step()
    world.repos.calls.clear()
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.deliver(push("refs/heads/fix", after=NEXT))
    assert await world.workers.step() == 2
    assert [one.base_branch for one in world.comparisons()] == ["main", "stable"]


async def test_a_push_to_the_head_is_in_the_timeline(world):
    await world.propose()
    await world.workers.step()
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.deliver(push("refs/heads/fix"))
    await world.workers.step()
    (row,) = await world.timeline()
    assert (row["type"], row["old_ref"], row["new_ref"]) == ("pull_push", HEAD, NEXT)


async def test_a_push_to_the_base_that_brings_the_head_merges(world):
    await world.propose()
    await world.workers.step()
    await world.deliver(push(after=NEXT))
    assert not (await world.call("GET", "/pulls/1")).json()["mergeable"]
    world.repos.comparison = comparison(base_sha=NEXT, commits=0)
    await world.workers.step()
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["merged"], pull["merge_commit_sha"]) == (True, NEXT)
    assert await world.pull_actions() == [("opened", False), ("closed", True)]


@pytest.mark.parametrize("refs", [("fix", "main"), ("main", "fix")])
@pytest.mark.parametrize("apart", [True, False])
async def test_a_push_of_head_and_base_together_merges(world, refs, *, apart):
    await world.propose()
    await world.workers.step()
    await move_both(world, refs, apart=apart)
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["merged"], pull["merge_commit_sha"], pull["head"]["sha"]) == (True, NEXT, NEXT)
    assert await world.pull_actions() == [("opened", False), ("synchronized", False), ("closed", True)]


async def move_both(
    world: World,
    refs: Iterable[str],
    *,
    apart: bool = False,
    head_sha: str = NEXT,
    contained: bool | None = None,
) -> None:
    """Push to head and base in this order.

    When both are compared, the base is at NEXT and contains the whole head.

    The base contains the former head as well. The former base contains nothing of the present head, unless
    ``contained`` says so for a question.
    """
    own = [*refs].index("fix") == 0
    has = (not own) if contained is None else contained
    world.repos.commits = [] if has else [history_commit(JOINED)]
    world.repos.comparison = comparison(base_sha=NEXT, head_sha=head_sha, merge_base=head_sha, commits=0)
    for ref in refs:
        await world.deliver(push(f"refs/heads/{ref}", after=NEXT if ref == "main" else head_sha))
        if apart:
            await world.workers.step()
    await world.work()
    assert world.histories() == ([(BASE, head_sha)] if own else [(NEXT, HEAD)])


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize(
    ("refs", "head_sha", "contained"),
    [(("fix", "main"), JOINED, True), (("main", "fix"), JOINED, False), (("main", "fix"), NEXT, False)],
    ids=["what the base had before", "that later", "what the base has now"],
)
async def test_a_head_branch_that_is_used_for_something_else_is_not_merged(
    world, refs, head_sha, contained, *, apart
):
    """Its new commits are in the base, but no push to the base has brought there what was proposed."""
    await world.propose()
    await world.work()
    await move_both(world, refs, apart=apart, head_sha=head_sha, contained=contained)
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["merged"], pull["state"], pull["head"]["sha"]) == (False, "open", head_sha)
    assert await world.pull_actions() == [("opened", False), ("synchronized", False)]
    world.repos.comparison = comparison(base_sha="f" * 40, head_sha=head_sha, merge_base=head_sha, commits=0)
    await world.deliver(push(after="f" * 40))
    await world.work()
    assert (await world.call("GET", "/pulls/1")).json()["merged"] is False


async def test_a_head_that_no_ref_reaches_any_more_is_not_merged(world):
    await world.propose()
    await world.work()
    world.repos.failures["commits"] = 404, "there is no such commit"
    await move_both(world, ("main", "fix"))
    assert (await world.call("GET", "/pulls/1")).json()["merged"] is False


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("refs", [("fix", "main"), ("main",)])
async def test_a_push_that_brings_the_head_leaves_it_open_where_that_is_not_detected(world, refs):
    undetecting = repository(autodetect_manual_merge=False)
    await world.propose()
    await world.work()
    world.repos.comparison = comparison(base_sha=NEXT, head_sha=NEXT, merge_base=NEXT, commits=0)
    for ref in refs:
        await world.deliver(push(f"refs/heads/{ref}", after=NEXT, repository=undetecting))
        await world.work()
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["merged"], pull["state"], pull["head"]["sha"]) == (False, "open", NEXT)
    assert await world.pull_actions() == [("opened", False), ("synchronized", False)]


async def test_a_head_that_goes_back_to_the_base_is_not_merged(world):
    await world.propose()
    await world.workers.step()
    world.repos.comparison = comparison(base_sha=NEXT, head_sha=BASE, commits=0)
    await world.deliver(push("refs/heads/fix", after=BASE))
    await world.deliver(push(after=NEXT))
    while await world.workers.step():
        pass
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["merged"], pull["state"], pull["head"]["sha"]) == (False, "open", BASE)


async def test_a_push_to_the_base_is_checked_for_conflicts(world):
    await world.propose()
    await world.deliver(push(after=NEXT))
    world.repos.comparison = comparison(base_sha=NEXT)
    await world.workers.step()
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["mergeable"], pull["base"]["sha"]) == (True, NEXT)
    assert await world.pull_actions() == [("opened", False)]


async def test_a_push_to_the_head_synchronizes(world):
    await world.propose(as_=4, head="dan:fix")
    await world.workers.step()
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.deliver(push("refs/heads/fix", repository=repository(8, owner=4)))
    await world.workers.step()
    assert (await world.call("GET", "/pulls/1")).json()["head"]["sha"] == NEXT
    assert await world.pull_actions() == [("opened", False), ("synchronized", False)]


@pytest.mark.parametrize(("level", "branch"), [("none", ""), ("write", "fix")])
async def test_a_private_head_is_followed_for_as_long_as_its_author_may_read_it(world, level, branch):
    """Without a branch, what is kept of it is compared."""
    await world.propose(as_=4, head="dan:fix")
    await world.workers.step()
    world.repos.calls.clear()
    hidden = world.repos.repositories[8] = repository(8, owner=1, private=True)
    world.repos.levels[(8, 4)] = level
    await world.deliver(RepositoryEdited(repository=hidden, sender=User(id=4, login="dan")))
    await world.deliver(push("refs/heads/fix", repository=hidden))
    await world.deliver(push(after=NEXT))
    assert await world.workers.step() == 2
    assert [(one.number, one.head_branch) for one in world.comparisons()] == [(1, branch)] * 2


@pytest.mark.parametrize(("level", "branch"), [("none", ""), ("read", "fix")])
async def test_a_public_head_is_not_followed_for_a_restricted_author_without_a_grant(world, level, branch):
    restricted = account(4, granted_only=True)
    await world.deliver(UserEdited(account=restricted, previous_login="dan"))
    await world.propose(as_=4, head="dan:fix")
    await world.workers.step()
    world.repos.calls.clear()
    head = world.repos.repositories[8] = repository(8, owner=1)
    world.repos.levels[(8, 4)] = level
    await world.deliver(push("refs/heads/fix", repository=head))
    await world.workers.step()
    assert [(one.number, one.head_branch) for one in world.comparisons()] == [(1, branch)]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_what_white_space_may_change_is_compared_again_when_the_repository_says_otherwise(world):
    await world.propose_many("fits", "conflicts")
    world.repos.comparisons = {(APP, "conflicts"): comparison(mergeable=False)}
    await world.deliver(push("refs/heads/conflicts"))
    await world.workers.step()
    world.repos.calls.clear()

    async def edit(*, fits: bool, **fields: bool) -> tuple[int, list[bool]]:
        world.repos.comparison = comparison(mergeable=fits)
        edited = RepositoryEdited(repository=repository(**fields), sender=User(id=1, login="ann"))
        await world.deliver(edited)
        jobs = await world.workers.step()
        return jobs, [pull["mergeable"] for pull in (await world.call("GET", "/pulls?sort=oldest")).json()]

    assert await edit(fits=True) == (0, [True, False])
    assert await edit(fits=True, ignore_whitespace_conflicts=True) == (1, [True, True])
    assert [(one.number, one.head_branch) for one in world.comparisons()] == [(2, "")]
    assert await edit(fits=True, ignore_whitespace_conflicts=True, private=True) == (0, [True, True])
    await world.propose_many("late")  # repos says already what the next event will say
    assert await edit(fits=False) == (1, [False, False, False])


async def test_a_push_to_another_branch_checks_nothing(world):
    await world.propose()
    await world.workers.step()
    for ref in ("refs/heads/other", "refs/tags/main"):
        await world.deliver(push(ref))
    assert await world.workers.step() == 0
