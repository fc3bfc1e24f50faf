"""Topics: words that describe a repository and by which users find it."""

import re
from collections.abc import Sequence

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_repos.catalog.store import repositories
from ingot_repos.repositories.store import topics

MOST = 25
LONGEST = 35
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")


async def replace_topics(tx: Tx, repository_id: int, names: Sequence[str]) -> None:
    """Replace the topics of a repository. Raises Invalid."""
    await repositories.lock_for_update(tx, repository_id)
    await _replace(tx, repository_id, {_checked(name) for name in names})


async def add_topic(tx: Tx, repository_id: int, name: str) -> None:
    """Add a topic. Do nothing if the repository already has it. Raises Invalid."""
    await repositories.lock_for_update(tx, repository_id)
    await _replace(tx, repository_id, {*await topics.names_of(tx, repository_id), _checked(name)})


async def remove_topic(tx: Tx, repository_id: int, name: str) -> None:
    """Remove a topic. Raises NotFound if the repository does not have it."""
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


def is_topic(name: str) -> bool:
    """Return whether a repository may have a topic of this name."""
    plain = name.strip().lower()
    return len(plain) <= LONGEST and _NAME.fullmatch(plain) is not None


def _checked(name: str) -> str:
    """Return the topic in lower case, as it is stored. Raises Invalid."""
    plain = name.strip().lower()
    if not is_topic(name):
        raise Invalid.field(
            "topics",
            "format",
            f"{name!r}: a topic has up to {LONGEST} letters, digits, '-' and '.', and begins with a letter "
            "or digit",
        )
    return plain
