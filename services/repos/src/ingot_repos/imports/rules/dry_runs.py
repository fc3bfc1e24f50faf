"""Dry runs: the data that an import would bring, and its requests. Nothing is created.

The source is asked for its counts and for the first page of each kind that names people.
"""

import asyncio
import time
from math import ceil

import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.errors import Invalid
from ingot_repos.git.remote.remote import Reason
from ingot_repos.imports.clients.source import KINDS, Kind, PersonKey, Source, SourceBusy, SourceFailed
from ingot_repos.imports.rules.lifecycle import NewSource
from ingot_repos.imports.rules.openings import SourceOpener
from ingot_repos.imports.rules.people import MappingRule, accounts_of
from ingot_repos.remotes.rules.reasons import REASON_TEXTS
from ingot_repos.remotes.rules.urls import RemoteUrl

SECONDS = 50.0
"""Limit of the time of a dry run."""
MOST_NAMES = 100
"""Limit of names of people without an account."""
WITH_PEOPLE: tuple[Kind, ...] = ("issues", "pulls", "comments", "releases")


class ImportReport(msgspec.Struct, kw_only=True):
    """A dry run of an import.

    ``counts`` has all that the source counts, by kind, or null. ``requests`` are those to the source, about,
    and ``seconds`` their time; null if the source does not count its objects. ``people`` are those on the
    first page of each kind. ``unmapped`` are the names of those without an account here, at most 100.
    ``pull_offset`` is added to numbers of pull requests.
    """

    service: str
    counts: dict[Kind, int | None]
    requests: int | None
    seconds: int | None
    people: int
    unmapped: list[str]
    pull_offset: int


async def try_import(
    database: Database, opener: SourceOpener, new: NewSource, remote: RemoteUrl, *, importer_id: int
) -> ImportReport:
    """Ask the source about an import. Raises Invalid if it does not answer as it should."""
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
    people, mapped = set[PersonKey](), set[PersonKey]()
    for kind in kinds:
        if kind in WITH_PEOPLE:
            page = await there.page(kind, "")
            people |= page.addresses.keys()
            async with database.read() as db:
                rule = MappingRule(importer_id, new.maps_people, new.map_logins, new.people)
                mapped |= (await accounts_of(db, page.addresses, rule)).keys()
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
        pull_offset=offset,
    )


def _invalid(reason: Reason) -> Invalid:
    return Invalid.field("clone_addr", reason, REASON_TEXTS[reason])
