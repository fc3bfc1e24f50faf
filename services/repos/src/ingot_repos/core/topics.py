"""The topics of a repository: words by which it is found."""

import re
from collections.abc import Sequence

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_repos.store import repositories, topics

MOST = 25
LONGEST = 35
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")


async def replace_topics(tx: Tx, repository_id: int, names: Sequence[str]) -> None:
    """Give a repository these topics and no others. Raises Invalid."""
    await repositories.lock_for_update(tx, repository_id)
    await _replace(tx, repository_id, {_checked(name) for name in names})


async def add_topic(tx: Tx, repository_id: int, name: str) -> None:
    """Add a topic; nothing happens when it is there. Raises Invalid."""
    await repositories.lock_for_update(tx, repository_id)
    await _replace(tx, repository_id, {*await topics.names_of(tx, repository_id), _checked(name)})


async def remove_topic(tx: Tx, repository_id: int, name: str) -> None:
    """Remove a topic. Raises NotFound when the repository has not got it."""
    await repositories.lock_for_update(tx, repository_id)
    names = set(await topics.names_of(tx, repository_id))
    plain = name.strip().lower()
    if plain not in names:
        raise NotFound("the repository has no such topic")
    await _replace(tx, repository_id, names - {plain})


async def _replace(tx: Tx, repository_id: int, names: set[str]) -> None:
    if len(names) > MOST:
        raise Invalid.field("topics", "length", f"are more than {MOST}")
    await topics.replace(tx, repository_id, names)


def _checked(name: str) -> str:
    """The topic as it is stored, in lower case. Raises Invalid."""
    plain = name.strip().lower()
    if len(plain) > LONGEST or _NAME.fullmatch(plain) is None:
        raise Invalid.field(
            "topics",
            "format",
            f"{name!r}: a topic has up to {LONGEST} letters, digits, '-' and '.', and begins with a letter or digit",
        )
    return plain
