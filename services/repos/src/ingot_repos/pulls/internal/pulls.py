"""Internal routes for issues: merge branches, and read commits and files of a pull request."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
from litestar import Response, get, post

from ingot_chassis.errors import Denied, Invalid, NotFound, TooLarge, Unavailable
from ingot_contracts.limits import DESCRIPTION_CHARACTERS, TEXT_CHARACTERS
from ingot_contracts.repos.commits import Verification
from ingot_contracts.repos.comparisons import ChangedPath, ChangedPaths
from ingot_contracts.repos.histories import History
from ingot_contracts.repos.merge_rules import MergeRule
from ingot_contracts.repos.merges import Merge, Merged, UpdateBranch, UpdatedBranch
from ingot_git.changes.tree_merges import CPU_SECONDS, JOB_CPU_SECONDS
from ingot_git.history import compare
from ingot_git.history.commit_files import files_of
from ingot_git.history.compare import ChangedFiles
from ingot_git.history.objects import is_reachable, tip_to_hide
from ingot_git.history.signatures import commit_signatures
from ingot_git.process.errors import (
    GitFailed,
    GitTimedOut,
    InvalidName,
    ObjectNotFound,
    OutputTooLarge,
    RefMoved,
    RepositoryNotFound,
)
from ingot_git.storage.read_cache import ReadCache
from ingot_repos.access.api.maintainers import maintained_branches
from ingot_repos.access.api.policies import own_account, require_on_disk, resolve_by_id, resolve_for_peer
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.store import accounts
from ingot_repos.changes.api.files import ref_updates_in
from ingot_repos.commits.api.commits import diff_of_files
from ingot_repos.commits.api.views import verifications_of
from ingot_repos.commits.rules.excerpts import clip_for_list
from ingot_repos.commits.rules.server_keys import ServerKeys
from ingot_repos.commits.rules.signatures import UNSIGNED
from ingot_repos.lfs.rules.objects import LfsObjects
from ingot_repos.presentation.rules.presenter import author_addresses, history_commit
from ingot_repos.protection.rules.contents import ContentJudge, ContentRule
from ingot_repos.protection.rules.decisions import actor_of, branch_rules_of, merge_rule
from ingot_repos.pulls import rules as merges
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.repositories.internal.lookups import ISSUES, act_as

REPOSITORY = "/internal/repositories/{repository_id:int}"
MOST_COMMITS = 1000
MOST_DIFFS = 200


async def resolve_for_update(
    request: RepositoryRequest, repository_id: int, branch: str
) -> ResolvedRepository:
    """Return a repository whose branch the caller may move. Raises NotFound, Unauthenticated, Denied."""
    try:
        return await resolve_by_id(request, repository_id, "write")
    except Denied:
        repository = await resolve_by_id(request, repository_id, "signed-in")
        if branch not in await maintained_branches(request, repository):
            raise
    return repository


@post(REPOSITORY + "/merge", policy=ISSUES, include_in_schema=False, status_code=200)
async def merge_branch(
    request: RepositoryRequest,
    repository_id: int,
    data: Merge,
    override: bool = False,
    user: str = "",
    restricted: bool = False,
) -> Merged:
    """Merge as the caller or as ``user``, who needs write access.

    With ``override``, actors may bypass the protection of the branch if its rule allows that. ``restricted``:
    the token of ``user`` is restricted to some repositories. Jobs merge as ``user``, and their merges may use
    more CPU time. Raises Invalid for texts that are too long, and TooLarge if git needs too much CPU time.
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
            await enter(request, data.head_repository_id, unattended=False)
        except NotFound:
            data = msgspec.structs.replace(data, head_branch="")
    request.acquire_slot()
    account = await own_account(request)
    actor = actor_of(request.principal, repository.row, repository.level)

    async def read_rules() -> tuple[MergeRule, ContentRule | None]:
        async with request.db.read() as db:
            rules = await branch_rules_of(db, repository.id)
            rule = await merge_rule(db, rules, repository.id, actor, data.base_branch, data.head_sha)
        return rule, rules.contents_of(data.base_branch)

    restricted = restricted or request.principal.restricted_to is not None
    with missing_repository_is_not_found():
        try:
            return await merges.merge_pull(
                request.storage,
                request.part(Pushes),
                request.part(LfsObjects),
                request.part(ContentJudge),
                request.part(ServerKeys).signer,
                repository.row,
                account,
                data,
                read_rules,
                override=override,
                restricted=restricted,
                cpu_seconds=JOB_CPU_SECONDS if user else CPU_SECONDS,
            )
        except (GitTimedOut, GitFailed, RefMoved) as error:
            raise Unavailable("the merge could not be made") from error


@post(REPOSITORY + "/update-branch", policy=ISSUES, include_in_schema=False, status_code=200)
async def update_branch(request: RepositoryRequest, repository_id: int, data: UpdateBranch) -> UpdatedBranch:
    """Merge or rebase a base branch into a branch of this repository.

    The caller needs write access to this repository, or to the base if the pull request allows edits by
    maintainers.
    """
    repository = await resolve_for_update(request, repository_id, data.head_branch)
    require_on_disk(request, repository)
    base = repository
    if data.base_repository_id != repository_id:
        base = await enter(request, data.base_repository_id, unattended=False)
    request.acquire_slot()
    updates = await ref_updates_in(request, repository)
    with missing_repository_is_not_found():
        try:
            signer = request.part(ServerKeys).signer
            return await merges.update_branch(
                request.storage, request.part(Pushes), updates, signer, base.row, data
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
    base_tip: str = "",
) -> Response[bytes]:
    """Return the diff between two commits as text; with ``?format=patch``, one mail per commit.

    - ``base``: if empty, the diff starts at the empty tree.
    - ``binary``: include binary changes. Mails always include them.
    - ``files``, ``offset``: limit and first file of a diff. ``X-Total-Count`` is the number of all files.
    - ``base_tip``: omit the commits of this tip from the mails, too.
    """
    is_patch = request.query_params.get("format") == "patch"
    offset, files = max(0, offset), min(files, MOST_DIFFS)
    write = partial(compare.diff_text, binary=binary)
    with _unreadable_commits():
        await _enter_history(request, repository_id, base, head, unattended)
        path = request.storage.path(repository_id)
        if files > 0 and not is_patch:
            text, total = await diff_of_files(
                request, path, base, head, offset=offset, limit=files, whitespace=whitespace
            )
            return Response(text, media_type="text/plain", headers={"X-Total-Count": str(total)})
        if is_patch:
            tip = await request.storage.call(repository_id, tip_to_hide, base_tip, head)
            write = partial(compare.patch_text, also_hidden=tip)
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
    base_tip: str = "",
) -> History:
    """List commits of ``head`` that are not in ``base``. Long texts are shortened.

    ``base`` may be one of several merge bases. Commits of ``base_tip``, the base branch, are omitted, too.
    With ``changes``, add the changed files of each commit. With ``verification``, add the state of its
    signature.
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
            base_tip=base_tip,
        )
    async with request.db.read() as db:
        logins = await accounts.logins_by_email(db, author_addresses(*infos))
    cache = request.part(ReadCache).file_changes
    changed = await files_of(request.storage, repository_id, infos, cache) if changes else {}
    verdicts: dict[str, Verification] = {}
    if verification:
        signatures = await request.storage.call(
            repository_id, commit_signatures, [info.oid for info in infos]
        )
        verified = await verifications_of(request, repository_id, infos, signatures)
        verdicts = {info.oid: verified.get(info.oid, UNSIGNED) for info in infos}
    commits = [history_commit(info, logins, changed.get(info.oid), verdicts.get(info.oid)) for info in infos]
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
    """List files that differ between ``base`` and ``head``, by path.

    ``skip_to`` is the path of the first listed file. The total does not count skipped files.
    """
    with _unreadable_commits():
        await _enter_history(request, repository_id, base, head, unattended)
        files = await _changed_files(request, request.storage.path(repository_id), base, head, whitespace)
    skipped = files.position(skip_to) if skip_to else 0
    start = skipped + max(offset, 0)
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
    return ChangedPaths(files=page, total=len(files) - skipped)


async def _changed_files(
    request: RepositoryRequest, path: Path, base: str, head: str, whitespace: compare.Whitespace
) -> ChangedFiles:
    """Return the files that differ between commits that the caller may read. Raises TooLarge.

    The list is cached.
    """
    cache, key = request.part(ReadCache).changed_files, (base, head, whitespace)
    files: ChangedFiles | None = cache.get(key)
    if files is None:
        files = await asyncio.to_thread(compare.changed_files, path, base, head, whitespace=whitespace)
        if files is None:
            raise TooLarge("the list of files is too large")
        cache.put(key, files, size=1 + len(files) + files.bytes_of_paths // 200)
    return files


async def enter(request: RepositoryRequest, repository_id: int, unattended: bool) -> ResolvedRepository:
    """Return a repository that the caller may read and whose files are on this shard.

    With ``unattended``, access is not checked. Raises NotFound, and the errors of ``require_on_disk``.
    """
    resolve_repository = resolve_for_peer if unattended else resolve_by_id
    repository = await resolve_repository(request, repository_id)
    require_on_disk(request, repository)
    if not unattended:
        request.acquire_slot()
    return repository


async def _enter_history(
    request: RepositoryRequest, repository_id: int, base: str, head: str, unattended: bool
) -> None:
    """Check that the caller may read both commits.

    Raises NotFound also for a commit that no branch or pull request of the repository reaches.
    """
    await enter(request, repository_id, unattended)
    for commit in filter(None, (base, head)):
        if not await request.storage.call(repository_id, is_reachable, commit):
            raise NotFound("there is no such commit")


@contextmanager
def missing_repository_is_not_found() -> Iterator[None]:
    """Convert RepositoryNotFound inside the block to NotFound."""
    try:
        yield
    except RepositoryNotFound:
        raise NotFound from None


@contextmanager
def _unreadable_commits() -> Iterator[None]:
    """Raise NotFound for objects that git cannot read, and TooLarge for output that exceeds a limit."""
    try:
        yield
    except (InvalidName, GitFailed, ObjectNotFound, RepositoryNotFound):
        raise NotFound from None
    except (OutputTooLarge, GitTimedOut) as error:
        raise TooLarge("the text is too large") from error


routes = [merge_branch, update_branch, get_diff, list_commits, list_files]
