"""SQL for topics of repositories. The row of a repository also has the topic names, for responses."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache

import msgspec
from sqlalchemy import String, bindparam, delete, func, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import has_phrase, trigram_phrase
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow, count_of
from ingot_chassis.db.transaction import insert
from ingot_repos.catalog.store.tables import account, repository
from ingot_repos.catalog.store.viewers import Viewer, ViewerKind, visible
from ingot_repos.repositories.store.search import ESCAPE, pattern_of
from ingot_repos.repositories.store.tables import repository_topic, topic


class TopicRow(TypedRow):
    """A topic. ``repo_count`` counts only repositories that the viewer may see."""

    id: int
    name: str
    created_at: datetime
    updated_at: datetime
    repo_count: int


async def names_of(db: Executor, repository_id: int) -> list[str]:
    """Return the topics of a repository by name."""
    statement = (
        select(topic.c.name)
        .join(repository_topic, repository_topic.c.topic_id == topic.c.id)
        .where(repository_topic.c.repository_id == repository_id)
        .order_by(topic.c.name)
    )
    return [str(name) for name in (await db.execute(statement)).scalars()]


async def replace(tx: Executor, repository_id: int, names: Collection[str]) -> None:
    """Replace the topics of a repository. Topics that do not exist are created."""
    if names:
        at = now()
        rows = [{"name": name, "created_at": at, "updated_at": at} for name in sorted(names)]
        await tx.execute(insert(tx, topic).values(rows).on_conflict_do_nothing())
    ids = select(topic.c.id).where(topic.c.name.in_(list(names)))
    await tx.execute(
        delete(repository_topic).where(
            repository_topic.c.repository_id == repository_id, repository_topic.c.topic_id.not_in(ids)
        )
    )
    if names:
        added = [
            {"repository_id": repository_id, "topic_id": topic_id}
            for topic_id in (await tx.execute(ids)).scalars()
        ]
        await tx.execute(insert(tx, repository_topic).values(added).on_conflict_do_nothing())
    encoded = msgspec.json.encode(sorted(names)).decode()
    await tx.execute(update(repository).where(repository.c.id == repository_id).values(topics=encoded))


class _ListedTopicRow(TopicRow, TotalRow):
    """A topic in a list."""


async def search(db: Executor, viewer: Viewer, text: str, page: Slice) -> tuple[Sequence[TopicRow], int]:
    """List topics whose names contain a text, of visible repositories, and the number of all.

    The topics of the most repositories come first.
    """
    phrase = trigram_phrase(text)
    topics = _search(viewer.kind, is_indexed=phrase is not None)
    return await topics.read(db, page, **viewer.values(), pattern=pattern_of(text), phrase=phrase)


@cache
def _search(viewer: ViewerKind, *, is_indexed: bool) -> PreparedPage[_ListedTopicRow]:
    of_topic = func.count(repository.c.id)
    topics = (
        select(topic.c.id, topic.c.name, topic.c.created_at, topic.c.updated_at, of_topic.label("repo_count"))
        .join(repository_topic, repository_topic.c.topic_id == topic.c.id)
        .join(repository, repository.c.id == repository_topic.c.repository_id)
        .join(account, account.c.id == repository.c.owner_id)
        .where(topic.c.name.like(bindparam("pattern", type_=String), escape=ESCAPE), visible(viewer))
        .group_by(topic.c.id, topic.c.name, topic.c.created_at, topic.c.updated_at)
    )
    if is_indexed:
        topics = topics.where(has_phrase(topic.c.id, "topic_trigrams", "phrase"))
    order = (of_topic.desc(), topic.c.name)
    # The order needs the count, so all matching topics are counted.
    return PreparedPage(topics, _ListedTopicRow, *order, count=count_of(topics), total=func.count().over())
