"""SQL of the search over all repositories.

Names, descriptions and topics have trigram indexes: pg_trgm on PostgreSQL, FTS5 on SQLite.
"""

from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Integer,
    Select,
    String,
    and_,
    bindparam,
    case,
    false,
    func,
    literal_column,
    not_,
    or_,
    select,
    true,
)

from ingot_chassis.db.arrays import COUNTED, TRIGRAM, any_of, by_index, has_phrase, trigram_phrase
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice
from ingot_chassis.db.tables import BigId
from ingot_repos.catalog.store.counts import count_visible
from ingot_repos.catalog.store.lists import RepositoryList, RepositoryPage
from ingot_repos.catalog.store.tables import repository, team_grant
from ingot_repos.catalog.store.viewers import Viewer, ViewerKind, accessible
from ingot_repos.repositories.store.tables import repository_topic, topic
from ingot_repos.social.store.tables import star

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
"""Limit of words in a search. Further words are searched as one text, because each word costs a search."""
MOST_SHAPES = 32
"""Limit of cached search shapes. Each takes 0.1 to 0.3 MB per kind of viewer."""
ESCAPE = "/"


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions and the order of a search.

    - ``account``: only repositories that the account owns or can reach.
    - ``concealed``: organizations whose membership the account hides. Their repositories are excluded.
    - ``text``: each word must be in the name or a topic. With ``descriptions`` it may be in the description.
      With ``only_topics`` the text is a topic.
    - ``first_owner``: repositories of this owner come first.
    - ``sort``: by relevance, exact names come first, then names that begin with the text, then names that
      contain it. Each group is ordered by stars.
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
        """Return whether the search has no conditions."""
        return msgspec.structs.replace(self, first_owner=0, sort="alpha", descending=False) == Search()


async def search(db: Executor, viewer: Viewer, query: Search, page: Slice) -> RepositoryPage:
    """Return the visible repositories that match, and their number."""
    total = await count_visible(db, viewer) if query.finds_all else None
    return await list_of(query).read(db, viewer, page, total=total, **_values(query))


def list_of(query: Search) -> RepositoryList:
    """Return the list for a search. Searches of one shape share it with its prepared statements."""
    return _list(_shape_of(query))


class _Word(NamedTuple):
    """A word, and the indexes that can find it. PostgreSQL needs a long word, FTS5 of SQLite letters."""

    is_long: bool
    is_indexed: bool


class _Shape(NamedTuple):
    """The parts of a search that change its statement. All other parts are parameters.

    ``fields`` are the names of non-empty fields of ``Search``.
    """

    words: tuple[_Word, ...]
    flags: tuple[tuple[str, bool | None], ...]
    fields: frozenset[str]
    account: ViewerKind | None
    mode: Mode
    sort: Sort


def _shape_of(query: Search) -> _Shape:
    words = tuple(_Word(len(word) >= TRIGRAM, trigram_phrase(word) is not None) for word in _words(query))
    flags = tuple((name, getattr(query, name)) for name in ("private", "template", "archived"))
    fields = frozenset(name for name in _FIELDS if getattr(query, name))
    account = query.account.kind if query.account is not None else None
    return _Shape(words, flags, fields, account, query.mode, query.sort)


_FIELDS = (
    "text",
    "only_topics",
    "descriptions",
    "starred_by",
    "team",
    "owner",
    "first_owner",
    "concealed",
    "exclusive",
    "descending",
)


def _words(query: Search) -> list[str]:
    return [] if query.only_topics else query.text.lower().split(maxsplit=MAX_WORDS - 1)


def _values(query: Search) -> dict[str, Any]:
    """Return the parameters of the list. Some statements use only a part of them."""
    text = query.text.lower()
    values = {
        "text": text,
        "beginning": f"{_escaped(text)}%",
        "pattern": pattern_of(text),
        "starred_by": query.starred_by,
        "team": query.team,
        "owner": query.owner,
        "first_owner": query.first_owner,
        "concealed": query.concealed,
    }
    column = "" if query.descriptions else "lower_name"
    for number, word in enumerate(_words(query)):
        values[f"pattern_{number}"] = pattern_of(word)
        values[f"phrase_{number}"] = trigram_phrase(word)
        values[f"name_phrase_{number}"] = trigram_phrase(word, of=column)
    return values if query.account is None else values | query.account.values("account")


def pattern_of(text: str) -> str:
    return f"%{_escaped(text)}%"


def _escaped(text: str) -> str:
    return text.replace(ESCAPE, 2 * ESCAPE).replace("%", f"{ESCAPE}%").replace("_", f"{ESCAPE}_")


@lru_cache(maxsize=MOST_SHAPES)
def _list(shape: _Shape) -> RepositoryList:
    column = SORTED_BY[shape.sort]
    order: tuple[Any, ...] = (column, repository.c.id)
    if "descending" in shape.fields:
        order = (column.desc(), repository.c.id.desc())
    if shape.sort == "relevance":
        order = (*_relevance(), *order)
    if "first_owner" in shape.fields:
        order = (repository.c.owner_id != _id("first_owner"), *order)
    most = COUNTED if "text" in shape.fields else None
    return RepositoryList(_condition(shape), *order, count_at_most=most)


def _id(name: str) -> BindParameter[int]:
    return bindparam(name, type_=BigId)


def _like(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    return column.like(bindparam(name, type_=String), escape=ESCAPE)


def _condition(shape: _Shape) -> ColumnElement[bool]:
    conditions: list[ColumnElement[bool]] = [true()]
    if "text" in shape.fields:
        conditions.append(_matching(shape))
    conditions += [repository.c[name].is_(flag) for name, flag in shape.flags if flag is not None]
    if "starred_by" in shape.fields:
        starred = select(star.c.repository_id).where(star.c.user_id == _id("starred_by"))
        conditions.append(repository.c.id.in_(starred))
    if "team" in shape.fields:
        granted = select(team_grant.c.repository_id).where(team_grant.c.team_id == _id("team"))
        conditions.append(repository.c.id.in_(granted))
    if "owner" in shape.fields:
        conditions.append(repository.c.owner_id == _id("owner"))
    if shape.account is not None:
        conditions.append(_reached_by(shape.account, shape))
    match shape.mode:
        case "fork":
            conditions.append(repository.c.fork_of.is_not(None))
        case "mirror":
            conditions.append(repository.c.mirror.is_(true()))
        case "source":
            conditions += [repository.c.fork_of.is_(None), repository.c.mirror.is_(false())]
        case "collaborative":
            conditions.append(repository.c.mirror.is_(false()))
    return and_(*conditions)


def _relevance() -> tuple[ColumnElement[int], ColumnElement[int]]:
    name = repository.c.lower_name
    zero, one, two, three = (literal_column(str(rank), Integer) for rank in range(4))
    is_name = name == bindparam("text", type_=String)
    rank = case((is_name, zero), (_like(name, "beginning"), one), (_like(name, "pattern"), two), else_=three)
    return rank, repository.c.stars_count.desc()


def _matching(shape: _Shape) -> ColumnElement[bool]:
    tagged = select(repository_topic.c.repository_id).join(topic, topic.c.id == repository_topic.c.topic_id)
    if "only_topics" in shape.fields:
        return repository.c.id.in_(tagged.where(topic.c.name == bindparam("text", type_=String)))
    return and_(*(_has_word(word, number, tagged, shape) for number, word in enumerate(shape.words)))


def _has_word(word: _Word, number: int, tagged: Select[Any], shape: _Shape) -> ColumnElement[bool]:
    tagged = tagged.where(_like(topic.c.name, f"pattern_{number}"))
    named = _like(repository.c.lower_name, f"pattern_{number}")
    if "descriptions" in shape.fields:
        named = or_(named, _like(func.lower(repository.c.description), f"pattern_{number}"))
    if not word.is_long:
        return or_(named, repository.c.id.in_(tagged))
    ids = select(repository.c.id).where(named)
    if word.is_indexed:
        ids = ids.where(has_phrase(repository.c.id, "repository_trigrams", f"name_phrase_{number}"))
        tagged = tagged.where(has_phrase(topic.c.id, "topic_trigrams", f"phrase_{number}"))
    matching = by_index(ids.union(tagged), f"named_{number}")
    return repository.c.id.in_(select(matching.c.id))


def _reached_by(account: ViewerKind, shape: _Shape) -> ColumnElement[bool]:
    own = repository.c.owner_id == _id("account_id")
    shared = and_(accessible(account, "account"), ~own)
    if "concealed" in shape.fields:
        shared = and_(shared, not_(any_of(repository.c.owner_id, "concealed")))
    if shape.mode == "collaborative":
        return shared
    return own if "exclusive" in shape.fields else or_(own, shared)
