"""Blocks: Ann (1) owns the repository, Bob (2) writes to it, Cat (3) reads it."""

import pytest
from sqlalchemy import update

from ingot_issues.records.store.tables import comment as comment_table
from ingot_issues.records.store.tables import issue as issue_table

ANN, BOB, CAT, DAN = 1, 2, 3, 4
DOINGS = {
    "open an issue": ("/issues", {"title": "x"}, 201),
    "comment": ("/issues/1/comments", {"body": "x"}, 201),
    "comment on a pull request": ("/issues/2/comments", {"body": "x"}, 201),
    "review": ("/pulls/2/reviews", {"event": "COMMENT", "body": "x"}, 200),
}


@pytest.mark.parametrize("doing", DOINGS)
@pytest.mark.parametrize(
    ("blocks", "as_", "refused"),
    [
        ((), CAT, ()),
        (((ANN, CAT),), CAT, tuple(DOINGS)),
        (((BOB, CAT),), CAT, ("comment on a pull request", "review")),
        (((BOB, ANN),), ANN, ()),
        (((CAT, ANN), (ANN, BOB)), CAT, ()),
    ],
)
async def test_who_is_blocked_neither_opens_nor_comments(world, doing, blocks, as_, refused):
    await world.open_issue()
    await world.propose()
    world.identity.blocks |= set(blocks)
    path, body, status = DOINGS[doing]
    answer = await world.call("POST", path, body, as_=as_)
    assert answer.status_code == (403 if doing in refused else status), answer.text


async def test_who_is_blocked_proposes_nothing(world):
    world.identity.blocks.add((ANN, BOB))
    answer = await world.call("POST", "/pulls", {"title": "x", "head": "fix", "base": "main"}, as_=BOB)
    assert (answer.status_code, "blocked" in answer.text) == (403, True)


async def test_a_block_works_at_once_where_nothing_is_remembered(world):
    world.identity.blocks.add((ANN, CAT))
    for status in (403, 201):
        answer = await world.call("POST", "/issues", {"title": "x"}, as_=CAT)
        assert answer.status_code == status
        world.identity.blocks.clear()


async def test_who_is_blocked_neither_reacts_nor_rewrites_nor_is_assigned(world):
    for number, author in ((1, CAT), (2, BOB)):  # by them, without asking about blocks before there are some
        await world.open_issue()
        await world.create(f"/issues/{number}/comments", {"body": "x"})
        async with world.db.transaction() as tx:
            for table in (issue_table, comment_table):
                await tx.execute(update(table).where(table.c.id == number).values(author_id=author))
    world.identity.blocks |= {(ANN, CAT), (BOB, ANN), (CAT, DAN)}
    like = {"content": "+1"}
    for method, path, body, as_, status in (
        ("POST", "/issues/1/reactions", like, CAT, 403),
        ("POST", "/issues/comments/2/reactions", like, CAT, 403),
        ("POST", "/issues/1/reactions", like, DAN, 403),
        ("POST", "/issues/comments/1/reactions", like, DAN, 403),
        ("PATCH", "/issues/1", {"body": "y"}, CAT, 403),
        ("PATCH", "/issues/comments/1", {"body": "y"}, CAT, 403),
        ("PATCH", "/issues/1", {"state": "closed"}, CAT, 201),
        ("POST", "/issues/2/reactions", like, ANN, 201),  # she administers the repository
        ("PATCH", "/issues/2", {"assignees": ["bob"]}, ANN, 422),
        ("PATCH", "/issues/2", {"assignees": ["cat"]}, BOB, 422),
        ("PATCH", "/issues/2", {"assignees": ["bob"]}, BOB, 201),
    ):
        answer = await world.call(method, path, body, as_=as_)
        assert answer.status_code == status, (path, as_, answer.text)
