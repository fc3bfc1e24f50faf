"""SQL for topics of repositories. The row of a repository has their names too, so that showing it needs no more."""

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec
from sqlalchemy import delete, func, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import has_trigrams
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_page
from ingot_chassis.db.transaction import insert
from ingot_repos.store.tables import account, repository, repository_topic, topic
from ingot_repos.store.viewers import Viewer, visible


class TopicRow(TypedRow):
    """``repo_count`` is of the repositories that the viewer may see."""

    id: int
    name: str
    created_at: datetime
    updated_at: datetime
    repo_count: int


async def names_of(db: Executor, repository_id: int) -> list[str]:
    """The topics of a repository, by name."""
    statement = (
        select(topic.c.name)
        .join(repository_topic, repository_topic.c.topic_id == topic.c.id)
        .where(repository_topic.c.repository_id == repository_id)
        .order_by(topic.c.name)
    )
    return [str(name) for name in (await db.execute(statement)).scalars()]


async def replace(tx: Executor, repository_id: int, names: Collection[str]) -> None:
    """Give a repository these topics and no others; a topic that is new is created."""
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


async def search(db: Executor, viewer: Viewer, text: str, page: Slice) -> tuple[Sequence[TopicRow], int]:
    """Topics whose names hold a text and that a visible repository has, those of most repositories first."""
    count = func.count(repository.c.id)
    statement = (
        select(topic.c.id, topic.c.name, topic.c.created_at, topic.c.updated_at, count.label("repo_count"))
        .join(repository_topic, repository_topic.c.topic_id == topic.c.id)
        .join(repository, repository.c.id == repository_topic.c.repository_id)
        .join(account, account.c.id == repository.c.owner_id)
        .where(
            topic.c.name.contains(text, autoescape=True),
            has_trigrams(topic.c.id, "topic_trigrams", text),
            visible(viewer.kind),
        )
        .group_by(topic.c.id, topic.c.name, topic.c.created_at, topic.c.updated_at)
        .order_by(count.desc(), topic.c.name)
    )
    return await fetch_page(db, statement.params(viewer.values()), page, TopicRow)
