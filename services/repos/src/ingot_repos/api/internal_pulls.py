"""For issues only: comparing and merging branches, and what is between two commits of a pull request."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import dropwhile

import msgspec
import structlog
from litestar import Response, get, post

from ingot_chassis.errors import BadRequest, Invalid, NotFound, TooLarge, Unavailable
from ingot_contracts.limits import DESCRIPTION_CHARACTERS, TEXT_CHARACTERS
from ingot_contracts.pulls import (
    MOST_HEADS,
    ChangedPath,
    ChangedPaths,
    Compare,
    CompareHeads,
    Comparison,
    Comparisons,
    Head,
    History,
    HistoryChanges,
    HistoryCommit,
    HistoryFile,
    Merge,
    Merged,
    Signature,
    UpdateBranch,
    UpdatedBranch,
    proposal_id,
)
from ingot_contracts.repos import Verification
from ingot_repos.api.code_views import verifications_of
from ingot_repos.api.commits import diff_of_files
from ingot_repos.api.file_changes import ref_updates_in
from ingot_repos.api.internal import ISSUES, act_as, branch_tip
from ingot_repos.api.policies import own_account, require_on_disk, resolve_by_id, resolve_for_peer
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.core import access, merges
from ingot_repos.core.excerpts import clip_for_list
from ingot_repos.core.presenter import author_addresses
from ingot_repos.core.protections import actor_of, branch_rules_of, merge_rule
from ingot_repos.core.signatures import UNSIGNED
from ingot_repos.git import compare
from ingot_repos.git.commit_files import CommitFiles, files_of
from ingot_repos.git.commits import CommitInfo, Person
from ingot_repos.git.errors import (
    GitFailed,
    GitTimedOut,
    InvalidName,
    ObjectNotFound,
    OutputTooLarge,
    RefMoved,
    RepositoryDamaged,
    RepositoryNotFound,
)
from ingot_repos.git.objects import is_reachable
from ingot_repos.git.signatures import commit_signatures
from ingot_repos.store import accounts, proposals

log = structlog.get_logger()

REPOSITORY = "/internal/repositories/{repository_id:int}"
LONGEST_COMPARE = 120.0
MOST_COMMITS = 1000
MOST_DIFFS = 200


@post(REPOSITORY + "/compare", policy=ISSUES, include_in_schema=False, status_code=200)
async def compare_branch(
    request: RepositoryRequest, repository_id: int, data: Compare, unattended: bool = False
) -> Comparison:
    """What merging a branch, maybe of a fork, would mean. The caller must be able to read both.

    ``unattended``: issues asks for itself and not for a person, so no access is checked.
    """
    head = Head(
        repository_id=data.head_repository_id,
        branch=data.head_branch,
        number=data.number,
        counted_base=data.counted_base,
        counted_head=data.counted_head,
    )
    with _missing_repository_is_not_found():
        base = await _enter(request, repository_id, unattended)
        return await _compare(request, base, data.base_branch, head, unattended)


@post(REPOSITORY + "/comparisons", policy=ISSUES, include_in_schema=False, status_code=200)
async def compare_branches(
    request: RepositoryRequest, repository_id: int, data: CompareHeads, unattended: bool = False
) -> Comparisons:
    """The same for many heads; None for a branch that does not exist, that the caller may not read, or of a damaged fork."""
    if len(data.heads) > MOST_HEADS:
        raise BadRequest(f"more than {MOST_HEADS} heads")
    base = await _enter(request, repository_id, unattended)
    await branch_tip(request, base, data.base_branch)
    comparisons = [
        await _compare_if_there(request, base, data.base_branch, head, unattended) for head in data.heads
    ]
    return Comparisons(comparisons=comparisons)


async def _compare_if_there(
    request: RepositoryRequest, base: ResolvedRepository, base_branch: str, head: Head, unattended: bool
) -> Comparison | None:
    """None where there is no such head, or its fork is damaged: that is no reason to compare no other."""
    try:
        return await _compare(request, base, base_branch, head, unattended)
    except (NotFound, RepositoryNotFound):
        return None
    except (RepositoryDamaged, Unavailable) as error:
        is_damaged = isinstance(error, RepositoryDamaged) or isinstance(error.__cause__, GitFailed)
        if head.repository_id == base.id or not is_damaged:
            raise
        log.exception("head not compared", repository=base.id, head=head.repository_id)
        return None


@post(REPOSITORY + "/merge", policy=ISSUES, include_in_schema=False, status_code=200)
async def merge_branch(
    request: RepositoryRequest,
    repository_id: int,
    data: Merge,
    override: bool = False,
    user: str = "",
    restricted: bool = False,
) -> Merged:
    """Merge as the caller or as ``user``, who needs write access. Raises Invalid for texts that are too long.

    With ``override`` the protection of the branch does not hold for those whom it lets pass. ``restricted``: ``user``
    asked for it with a token that is restricted to repositories.
    """
    await act_as(request, user)
    for field, text, most in (
        ("title", data.title, DESCRIPTION_CHARACTERS),
        ("message", data.message, TEXT_CHARACTERS),
    ):
        if len(text) > most:
            raise Invalid.field(field, "length", f"has more than {most} characters")
    repository = await resolve_by_id(request, repository_id, "write")
    access.require_unarchived(repository.row)
    require_on_disk(request, repository)
    if data.head_branch and data.head_repository_id != repository_id:
        try:
            await _enter(request, data.head_repository_id, unattended=False)
        except NotFound:
            data = msgspec.structs.replace(data, head_branch="")
    request.acquire_slot()
    account = await own_account(request)
    actor = actor_of(request.principal, repository.row, repository.level)
    async with request.db.read() as db:
        rules = await branch_rules_of(db, repository.id)
        rule = await merge_rule(db, rules, repository.id, actor, data.base_branch, data.head_sha)
    restricted = restricted or request.principal.restricted_to is not None
    with _missing_repository_is_not_found():
        try:
            return await merges.merge_pull(
                request.storage,
                request.components.pushes,
                request.components.lfs,
                request.components.judge,
                repository.row,
                account,
                data,
                rule,
                rules.contents_of(data.base_branch),
                override=override,
                restricted=restricted,
            )
        except (GitTimedOut, GitFailed, RefMoved) as error:
            raise Unavailable("the merge could not be made") from error


@post(REPOSITORY + "/update-branch", policy=ISSUES, include_in_schema=False, status_code=200)
async def update_branch(request: RepositoryRequest, repository_id: int, data: UpdateBranch) -> UpdatedBranch:
    """Bring a base branch into a branch of this repository as the caller, who needs write access here."""
    repository = await resolve_by_id(request, repository_id, "write")
    require_on_disk(request, repository)
    base = repository
    if data.base_repository_id != repository_id:
        base = await _enter(request, data.base_repository_id, unattended=False)
    request.acquire_slot()
    updates = await ref_updates_in(request, repository)
    with _missing_repository_is_not_found():
        try:
            return await merges.update_branch(
                request.storage, request.components.pushes, updates, base.row, data
            )
        except (GitTimedOut, GitFailed) as error:
            raise Unavailable("the branch could not be updated") from error


@get(REPOSITORY + "/diff", policy=ISSUES, include_in_schema=False)
async def get_diff(
    request: RepositoryRequest,
    repository_id: int,
    base: str = "",
    head: str = "",
    unattended: bool = False,
    binary: bool = False,
    files: int = 0,
    offset: int = 0,
    whitespace: compare.Whitespace = "show-all",
) -> Response[bytes]:
    """The changes between two commits of the history as a text; with ``?format=patch`` one mail for each commit.

    An empty ``base`` is the empty tree. ``binary``: a diff has the changes of binary files too, as mails always have.
    ``files``: it has those of so many files at most, behind the first ``offset``, and ``X-Total-Count`` counts all.
    """
    is_patch = request.query_params.get("format") == "patch"
    offset, files = max(0, offset), min(files, MOST_DIFFS)
    write = compare.patch_text if is_patch else partial(compare.diff_text, binary=binary)
    with _unreadable_commits():
        await _enter_history(request, repository_id, base, head, unattended)
        path = request.storage.path(repository_id)
        if files > 0 and not is_patch:
            text, total = await diff_of_files(
                request, path, base, head, offset=offset, limit=files, whitespace=whitespace
            )
            return Response(text, media_type="text/plain", headers={"X-Total-Count": str(total)})
        text = await write(path, base, head)
    return Response(text, media_type="text/plain")


@get(REPOSITORY + "/commits", policy=ISSUES, include_in_schema=False)
async def list_commits(
    request: RepositoryRequest,
    repository_id: int,
    base: str = "",
    head: str = "",
    unattended: bool = False,
    offset: int = 0,
    limit: int = 50,
    changes: bool = False,
    verification: bool = False,
) -> History:
    """Commits that ``head`` has and ``base`` has not, with long texts shortened.

    With ``changes`` what each of them changes, with ``verification`` what is to be said of its signature.
    """
    with _unreadable_commits():
        await _enter_history(request, repository_id, base, head, unattended)
        infos, total = await request.storage.call(
            repository_id,
            compare.history,
            base,
            head,
            offset=max(offset, 0),
            limit=min(limit, MOST_COMMITS),
            clip=clip_for_list,
        )
    async with request.db.read() as db:
        logins = await accounts.logins_by_email(db, author_addresses(*infos))
    cache = request.components.reads.file_changes
    changed = await files_of(request.storage, repository_id, infos, cache) if changes else {}
    verdicts: dict[str, Verification] = {}
    if verification:
        signatures = await request.storage.call(
            repository_id, commit_signatures, [info.oid for info in infos]
        )
        verified = await verifications_of(request, infos, signatures)
        verdicts = {info.oid: verified.get(info.oid, UNSIGNED) for info in infos}
    commits = [_history_commit(info, logins, changed.get(info.oid), verdicts.get(info.oid)) for info in infos]
    return History(commits=commits, total=total)


@get(REPOSITORY + "/files", policy=ISSUES, include_in_schema=False)
async def list_files(
    request: RepositoryRequest,
    repository_id: int,
    base: str = "",
    head: str = "",
    unattended: bool = False,
    offset: int = 0,
    limit: int = 50,
    whitespace: compare.Whitespace = "show-all",
    skip_to: str = "",
) -> ChangedPaths:
    """Files that differ between ``base`` and ``head``; with ``skip_to`` from the file of that path on."""
    with _unreadable_commits():
        await _enter_history(request, repository_id, base, head, unattended)
        path = request.storage.path(repository_id)
        files = await asyncio.to_thread(compare.changed_files, path, base, head, whitespace=whitespace)
    if files is None:
        raise TooLarge("the list of files is too large")
    if skip_to:
        files = tuple(dropwhile(lambda file: file.path != skip_to, files))
    start = max(offset, 0)
    page = [
        ChangedPath(
            path=file.path,
            previous=file.old_path or "",
            status=file.status,
            additions=file.additions or 0,
            deletions=file.deletions or 0,
        )
        for file in files[start : start + max(limit, 0)]
    ]
    return ChangedPaths(files=page, total=len(files))


async def _enter(request: RepositoryRequest, repository_id: int, unattended: bool) -> ResolvedRepository:
    """A repository whose files are here, and which the caller may read. Raises NotFound."""
    resolve_repository = resolve_for_peer if unattended else resolve_by_id
    repository = await resolve_repository(request, repository_id)
    require_on_disk(request, repository)
    if not unattended:
        request.acquire_slot()
    return repository


async def _enter_history(
    request: RepositoryRequest, repository_id: int, base: str, head: str, unattended: bool
) -> None:
    """The same; also raises NotFound for a commit that no branch or pull request of it reaches."""
    await _enter(request, repository_id, unattended)
    for commit in filter(None, (base, head)):
        if not await request.storage.call(repository_id, is_reachable, commit):
            raise NotFound("there is no such commit")


async def _compare(
    request: RepositoryRequest, base: ResolvedRepository, base_branch: str, head: Head, unattended: bool
) -> Comparison:
    if head.repository_id != base.id:
        try:
            await _enter(request, head.repository_id, unattended)
        except NotFound:  # commits that the base repository keeps for the pull request may be read
            head = msgspec.structs.replace(head, repository_id=base.id, branch="")
    try:
        async with asyncio.timeout(LONGEST_COMPARE):
            comparison = await merges.comparison(
                request.storage, request.components.pushes, base.row, base_branch, head
            )
    except (TimeoutError, GitTimedOut, GitFailed, RefMoved) as error:
        raise Unavailable("the comparison could not be made") from error
    if head.number and (proposed := proposal_id(head.branch)):
        async with request.db.transaction() as tx:
            await proposals.record(
                tx, base.id, proposed, number=head.number, compared_sha=comparison.head_sha
            )
    return comparison


@contextmanager
def _missing_repository_is_not_found() -> Iterator[None]:
    """Raises NotFound when there are no files of the repository."""
    try:
        yield
    except RepositoryNotFound:
        raise NotFound from None


@contextmanager
def _unreadable_commits() -> Iterator[None]:
    """Raises NotFound for what git cannot read, TooLarge for what has no end."""
    try:
        yield
    except (InvalidName, GitFailed, ObjectNotFound, RepositoryNotFound):
        raise NotFound from None
    except (OutputTooLarge, GitTimedOut) as error:
        raise TooLarge("the text is too large") from error


def _history_commit(
    info: CommitInfo,
    logins: dict[str, str],
    changes: CommitFiles | None,
    verification: Verification | None,
) -> HistoryCommit:
    return HistoryCommit(
        sha=info.oid,
        tree=info.tree,
        parents=list(info.parents),
        message=info.message,
        author=_signature(info.author, logins),
        committer=_signature(info.committer, logins),
        changes=_history_changes(changes) if changes is not None else None,
        verification=verification,
    )


def _history_changes(changes: CommitFiles) -> HistoryChanges:
    return HistoryChanges(
        files=[HistoryFile(filename=file.filename, status=file.status) for file in changes.files],
        additions=changes.additions,
        deletions=changes.deletions,
    )


def _signature(person: Person, logins: dict[str, str]) -> Signature:
    login = logins.get(person.email.lower(), "")
    return Signature(name=person.name, email=person.email, when=person.when, login=login)


routes = [compare_branch, compare_branches, merge_branch, update_branch, get_diff, list_commits, list_files]
