"""Blocks: Ann (1) owns the repository, Bob (2) writes to it, Cat (3) reads it."""

import pytest

ANN, BOB, CAT = 1, 2, 3
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
