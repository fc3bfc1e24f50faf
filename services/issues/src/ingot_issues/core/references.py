"""What texts refer to: ``#3`` and ``owner/name#3``, in issues, comments, pull requests and commits.

A reference within the repository is written at once. One to another repository is a job: repos is asked first
whether its author may see what it leads to.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from ingot_chassis.database import Tx
from ingot_chassis.errors import Invalid
from ingot_contracts.repos import RepositoryAccess
from ingot_issues.core.access import may_edit_by_id
from ingot_issues.core.markdown import LARGEST, parsed, words
from ingot_issues.core.site import Site
from ingot_issues.store import comments, issues, repositories
from ingot_issues.store.comments import Details
from ingot_issues.store.issues import IssueRow

REFER = "issue.refer"
MOST = 50
"""References of one text that are followed."""

Action = Literal["none", "closes", "reopens"]

_REFERENCE = re.compile(
    r"(?:\b(?P<closes>close[sd]?|fix(?:e[sd])?|resolve[sd]?)|\b(?P<reopens>reopen(?:s|ed)?))?:?[ \t]{0,8}"
    r"(?<![\w/&#@.-])(?P<full_name>[\w.-]{1,40}/[\w.-]{1,100})?#(?P<number>[1-9][0-9]{0,17})(?![\w-])",
    re.IGNORECASE,
)


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """``full_name`` is empty for the repository that the text is in."""

    full_name: str
    number: int
    action: Action


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """What refers: a commit, a comment, or the text of an issue or pull request."""

    repository_id: int
    issue_id: int = 0
    comment_id: int = 0
    is_pull: bool = False
    sha: str = ""

    @property
    def kind(self) -> int:
        if self.sha:
            return comments.COMMIT_REF
        if self.comment_id:
            return comments.COMMENT_REF
        return comments.PULL_REF if self.is_pull else comments.ISSUE_REF

    @property
    def columns(self) -> dict[str, Any]:
        return {
            "ref_repository_id": self.repository_id,
            "ref_issue_id": self.issue_id or None,
            "ref_comment_id": self.comment_id or None,
            "ref_sha": self.sha or None,
        }


class Refer(msgspec.Struct, frozen=True, kw_only=True):
    """The job: note a reference to another repository. ``act``: and close or reopen as it says."""

    source: Source
    reference: Reference
    actor_id: int
    act: bool = False


def find(text: str) -> list[Reference]:
    """What a plain text refers to, each issue once, with what is to happen to it."""
    found: dict[tuple[str, int], Reference] = {}
    for match in _REFERENCE.finditer(text):
        action: Action = "closes" if match["closes"] else "reopens" if match["reopens"] else "none"
        full_name = (match["full_name"] or "").lower()
        key = full_name, int(match["number"])
        if key not in found and len(found) == MOST:
            break
        if key not in found or found[key].action == "none":
            found[key] = Reference(full_name=full_name, number=key[1], action=action)
    return list(found.values())


def clean_text(body: str) -> str:
    """The markdown of a person. Raises Invalid when it is too long to be parsed."""
    if len(body) > LARGEST:
        raise Invalid.field("body", "length", f"has more than {LARGEST} characters")
    return body


async def find_in_markdown(text: str) -> list[Reference]:
    """The same; what stands in code or in a link does not count. To be called before the repository is locked."""
    return await parsed(lambda markdown: find(words(markdown)), text) if "#" in text else []


async def find_in_opened(title: str, body: str) -> list[Reference]:
    """What an issue or pull request refers to."""
    return await find_in_markdown(f"{title}\n\n{body}")


async def note_all(tx: Tx, site: Site, source: Source, found: Iterable[Reference]) -> None:
    """Note references that stand in the repository of ``site``, which is locked already."""
    for reference in found:
        if not is_own(site, reference):
            await send_on(tx, site, source, reference)
            continue
        target = await issues.get(tx, site.repository.id, reference.number)
        if target is not None:
            await note(tx, site, target, source, reference.action)


def is_own(site: Site, reference: Reference) -> bool:
    return reference.full_name in ("", site.repository.full_name.lower())


async def note(tx: Tx, site: Site, target: IssueRow, source: Source, action: Action) -> None:
    """Write the reference into the timeline of ``target``, once."""
    if target.id == source.issue_id or await comments.is_noted(tx, target.id, source.kind, **source.columns):
        return
    await site.note(tx, target.id, source.kind, details=Details(action=action), **source.columns)


async def send_on(tx: Tx, site: Site, source: Source, reference: Reference, *, act: bool = False) -> None:
    """Have a reference to another repository noted by a worker, unless it is out of the actor's reach."""
    if site.confined:
        return
    await repositories.add_missing(tx, site.repository)
    job = Refer(source=source, reference=reference, actor_id=site.actor_id, act=act)
    await site.jobs.add(tx, REFER, hashlib.sha256(msgspec.json.encode(job)).hexdigest(), job)


async def arrive(tx: Tx, site: Site, access: RepositoryAccess, job: Refer) -> IssueRow | None:
    """Note a reference from another repository; its target, if the actor may close and reopen that."""
    if site.repository.archived or not await repositories.lock(tx, site.repository.id):
        return None
    target = await issues.get(tx, site.repository.id, job.reference.number)
    if target is None:
        return None
    await note(tx, site, target, job.source, job.reference.action)
    return target if job.act and may_edit_by_id(access, job.actor_id, target.author_id) else None
