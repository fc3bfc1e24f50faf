"""Dry runs: they count the data and the requests of an import, and create nothing.

They request the counts of the source, and the first page of each kind that names people.
"""

import asyncio
import time
from collections import Counter
from math import ceil
from typing import Any

import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.errors import Invalid
from ingot_contracts.repos.imports import ImportedPerson
from ingot_git.remote.remote import Reason
from ingot_remotes.interface.source import KINDS, Kind, PersonKey, Source, SourceBusy, SourceFailed
from ingot_repos.imports.rules.lifecycle import NewSource
from ingot_repos.imports.rules.openings import SourceOpener
from ingot_repos.imports.rules.people import MappingRule, accounts_of, by_login
from ingot_repos.imports.rules.settings import unmapped_rules
from ingot_repos.imports.store import UnmappedRule
from ingot_repos.remotes.rules.reasons import REASON_TEXTS
from ingot_repos.remotes.rules.urls import RemoteUrl

SECONDS = 50.0
"""Limit of the time of a dry run."""
MOST_NAMES = 100
"""Limit of names of people without an account."""
WITH_PEOPLE: tuple[Kind, ...] = ("issues", "pulls", "comments", "releases")


class UnmappedAuthor(msgspec.Struct, frozen=True, kw_only=True):
    """An author without a local account, by login and id at the source.

    ``objects`` counts the author's issues, pull requests, reviews, comments, reactions and releases on the
    first pages.
    """

    login: str
    id: int
    objects: int


class ImportReport(msgspec.Struct, kw_only=True):
    """The result of a dry run of an import.

    ``counts`` has the objects at the source by kind, or null. ``requests`` estimates the requests to the
    source, and ``seconds`` their duration; null if the source does not count its objects. ``people`` is the
    number of people on the first page of each kind. ``unmapped`` names people without a local account, at
    most 100. ``unmapped_authors`` has the most active authors without a local account, at most 100. They may
    be authors of a former source. ``unmapped_rules`` has the protection rules that name people without a
    local account, at most 100. ``pull_offset`` is added to numbers of pull requests.
    """

    service: str
    counts: dict[Kind, int | None]
    requests: int | None
    seconds: int | None
    people: int
    unmapped: list[str]
    unmapped_authors: list[UnmappedAuthor]
    unmapped_rules: list[UnmappedRule]
    pull_offset: int


async def try_import(
    database: Database, opener: SourceOpener, new: NewSource, remote: RemoteUrl, *, importer_id: int
) -> ImportReport:
    """Return the report of a dry run. Raises Invalid if the source fails, or does not respond in time."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(SECONDS), opener.open_new(new.service, remote) as there:
            return await _report(database, there, new, importer_id, opener.costs(new.service), began)
    except SourceFailed as error:
        raise _invalid(error.fault) from None
    except SourceBusy:
        raise _invalid("busy") from None
    except TimeoutError:
        raise _invalid("unreachable") from None


async def _report(
    database: Database,
    there: Source,
    new: NewSource,
    importer_id: int,
    costs: dict[Kind, float],
    began: float,
) -> ImportReport:
    kinds = [kind for kind in (*KINDS, "releases") if kind in new.kinds]
    counts = {kind: await there.count(kind) for kind in kinds}
    seconds_each = (time.monotonic() - began) / max(len(kinds), 1)
    offset = await there.pull_offset() if "pulls" in kinds else 0
    people, mapped, authors = set[PersonKey](), set[PersonKey](), Counter[PersonKey]()
    rule = MappingRule(importer_id, new.maps_people, new.map_logins, new.people)
    rules = await there.rules()
    for kind in kinds:
        if kind in WITH_PEOPLE:
            page = await there.page(kind, "")
            people |= page.addresses.keys()
            authors.update(_authors_of(page))
            async with database.read() as db:
                mapped |= (await accounts_of(db, page.addresses, rule)).keys()
    async with database.read() as db:
        of_rules = by_login(await accounts_of(db, rules.addresses, rule))
    requests = None
    if all(count is not None for count in counts.values()):
        requests = ceil(sum((count or 0) * costs.get(kind, 0) + 1 for kind, count in counts.items()))
    names = sorted({name for _, name in people - mapped})
    return ImportReport(
        service=new.service,
        counts=counts,
        requests=requests,
        seconds=None if requests is None else ceil(requests * seconds_each),
        people=len(people),
        unmapped=names[:MOST_NAMES],
        unmapped_authors=[
            UnmappedAuthor(login=login, id=person_id, objects=count)
            for (person_id, login), count in sorted(authors.items(), key=lambda item: (-item[1], item[0]))
            if (person_id, login) not in mapped and login
        ][:MOST_NAMES],
        unmapped_rules=unmapped_rules(rules, of_rules),
        pull_offset=offset,
    )


def _authors_of(value: Any) -> list[PersonKey]:
    """Return the author of each object in a page, including nested reviews, comments and reactions."""
    if isinstance(value, list):
        return [author for one in value for author in _authors_of(one)]
    if not isinstance(value, msgspec.Struct):
        return []
    author = getattr(value, "author", None)
    own = [(author.source_id, author.name)] if isinstance(author, ImportedPerson) else []
    return own + [nested for name in value.__struct_fields__ for nested in _nested(getattr(value, name))]


def _nested(field: Any) -> list[PersonKey]:
    return _authors_of(field) if isinstance(field, list) else []


def _invalid(reason: Reason) -> Invalid:
    return Invalid.field("clone_addr", reason, REASON_TEXTS[reason])
