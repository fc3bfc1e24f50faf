"""SQL of the search over all repositories.

Names, descriptions and topics have trigram indexes: of pg_trgm on PostgreSQL, of FTS5 on SQLite.
"""

from typing import Literal

import msgspec
from sqlalchemy import ColumnElement, Select, and_, case, false, func, or_, select, true

from ingot_chassis.db.arrays import TRIGRAM, has_trigrams
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice
from ingot_repos.store.repositories import Viewer, accessible
from ingot_repos.store.repository_counts import count_visible
from ingot_repos.store.repository_lists import RepositoryPage, fetch_visible
from ingot_repos.store.tables import repository, repository_topic, star, team_grant, topic

Mode = Literal["", "fork", "source", "mirror", "collaborative"]
Sort = Literal["alpha", "created", "updated", "size", "git_size", "stars", "forks", "id", "relevance"]
SORTED_BY = {
    "alpha": repository.c.lower_name,
    "created": repository.c.created_at,
    "updated": repository.c.updated_at,
    "size": repository.c.size,
    "git_size": repository.c.size,
    "stars": repository.c.stars_count,
    "forks": repository.c.forks_count,
    "id": repository.c.id,
    "relevance": repository.c.lower_name,
}
MAX_WORDS = 8
"""What comes after so many is looked for as it is: each word costs a search."""
COUNTED = 10_000
"""How many matches of a text are counted: an exact number would cost as much as looking at each."""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """Which repositories a search finds, and in which order.

    ``account`` limits it to what that account owns or can reach; ``concealed`` are organizations whose repositories
    are left out of that, because the account does not show its membership. Each word of ``text`` is in the name or in a
    topic (``only_topics``: the text is a topic), or with ``descriptions`` in the description. Repositories of
    ``first_owner`` come first. By relevance, those of that name are before those whose name begins with the text, these
    before others with it in the name, and the rest comes last; each of them by their stars.
    """

    text: str = ""
    only_topics: bool = False
    descriptions: bool = False
    private: bool | None = None
    template: bool | None = None
    archived: bool | None = None
    starred_by: int = 0
    team: int = 0
    owner: int = 0
    first_owner: int = 0
    account: Viewer | None = None
    concealed: list[int] = []
    exclusive: bool = False
    mode: Mode = ""
    sort: Sort = "alpha"
    descending: bool = False

    @property
    def finds_all(self) -> bool:
        """Whether it finds whatever the viewer may see."""
        return msgspec.structs.replace(self, first_owner=0, sort="alpha", descending=False) == Search()


async def search(db: Executor, viewer: Viewer, query: Search, page: Slice) -> RepositoryPage:
    """The repositories that match and that the viewer may see, and how many there are."""
    column = SORTED_BY[query.sort]
    order = (column.desc(), repository.c.id.desc()) if query.descending else (column, repository.c.id)
    if query.sort == "relevance":
        order = (*_relevance(query), *order)
    if query.first_owner:
        order = (repository.c.owner_id != query.first_owner, *order)
    most = COUNTED if query.text else None
    total = await count_visible(db, viewer) if query.finds_all else None
    return await fetch_visible(db, viewer, _condition(query), page, *order, count_at_most=most, total=total)


def _condition(query: Search) -> ColumnElement[bool]:
    conditions: list[ColumnElement[bool]] = [true()]
    if query.text:
        conditions.append(_matching(query))
    flags = {"private": query.private, "template": query.template, "archived": query.archived}
    conditions += [repository.c[name].is_(flag) for name, flag in flags.items() if flag is not None]
    if query.starred_by:
        starred = select(star.c.repository_id).where(star.c.user_id == query.starred_by)
        conditions.append(repository.c.id.in_(starred))
    if query.team:
        granted = select(team_grant.c.repository_id).where(team_grant.c.team_id == query.team)
        conditions.append(repository.c.id.in_(granted))
    if query.owner:
        conditions.append(repository.c.owner_id == query.owner)
    if query.account is not None:
        conditions.append(_reached_by(query.account, query))
    match query.mode:
        case "fork":
            conditions.append(repository.c.fork_of.is_not(None))
        case "mirror":
            conditions.append(repository.c.mirror.is_(true()))
        case "source":
            conditions += [repository.c.fork_of.is_(None), repository.c.mirror.is_(false())]
        case "collaborative":
            conditions.append(repository.c.mirror.is_(false()))
    return and_(*conditions)


def _relevance(query: Search) -> tuple[ColumnElement[int], ColumnElement[int]]:
    name, text = repository.c.lower_name, query.text.lower()
    contains = name.contains(text, autoescape=True)
    rank = case((name == text, 0), (name.startswith(text, autoescape=True), 1), (contains, 2), else_=3)
    return rank, repository.c.stars_count.desc()


def _matching(query: Search) -> ColumnElement[bool]:
    text = query.text.lower()
    tagged = select(repository_topic.c.repository_id).join(topic, topic.c.id == repository_topic.c.topic_id)
    if query.only_topics:
        return repository.c.id.in_(tagged.where(topic.c.name == text))
    words = enumerate(text.split(maxsplit=MAX_WORDS - 1))
    return and_(*(_has_word(word, number, tagged, query) for number, word in words))


def _has_word(word: str, number: int, tagged: Select[int], query: Search) -> ColumnElement[bool]:
    topics = topic.c.name.contains(word, autoescape=True)
    tagged = tagged.where(topics, has_trigrams(topic.c.id, "topic_trigrams", word))
    named = repository.c.lower_name.contains(word, autoescape=True)
    if query.descriptions:
        described = func.lower(repository.c.description).contains(word, autoescape=True)
        named = or_(named, described)
    if len(word) < TRIGRAM:
        return or_(named, repository.c.id.in_(tagged))
    # A subquery that is not flattened: else the planner, which does not know the text of a prepared statement,
    # may walk the names in order and look at each of them.
    column = "" if query.descriptions else "lower_name"
    ids = (
        select(repository.c.id)
        .where(named, has_trigrams(repository.c.id, "repository_trigrams", word, of=column))
        .union(tagged)
        .cte(f"named_{number}")
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )
    return repository.c.id.in_(select(ids.c.id))


def _reached_by(account: Viewer, query: Search) -> ColumnElement[bool]:
    own = repository.c.owner_id == account.id
    shared = and_(accessible(account), ~own)
    if query.concealed:
        shared = and_(shared, repository.c.owner_id.not_in(query.concealed))
    if query.mode == "collaborative":
        return shared
    return own if query.exclusive else or_(own, shared)
