"""An internal route for web: the data of a repository's first page, in one request."""

from asyncio import gather

import msgspec
from litestar import get

from ingot_contracts.repos.front_pages import FrontPage, LatestCommit
from ingot_git.history import history
from ingot_git.history.history import HistoryFilter
from ingot_git.history.languages import languages_of
from ingot_git.process.errors import ObjectNotFound, RefNotFound, RepositoryNotFound
from ingot_git.refs.refs import list_branches
from ingot_git.storage.read_cache import ReadCache
from ingot_repos.access.api.policies import in_repository
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.commits.api.commits import CommitParts, full_commits
from ingot_repos.commits.rules.excerpts import clip_for_list
from ingot_repos.social.store import relations
from ingot_repos.social.store.relations import STARS, WATCHES

PARTS = CommitParts(stats=False, files=False, verification=False)
POLICY = msgspec.structs.replace(
    in_repository("read", "read:repository", on_disk=True), caller="service", services=("web",)
)


@get("/internal/repos/{owner:str}/{repo:str}/front-page", policy=POLICY, include_in_schema=False)
async def get_front_page(request: RepositoryRequest) -> FrontPage:
    """Return the latest commit, counts, languages, and the caller's star and watch of a repository."""
    repository, caller, cache = request.resource, request.principal, request.part(ReadCache)
    branch, page = repository.row.default_branch, FrontPage()
    try:
        (listed, signatures), languages, (_, branch_count) = await gather(
            request.storage.call(
                repository.id,
                history.named_history,
                branch,
                "",
                HistoryFilter(),
                offset=0,
                limit=1,
                cache=cache,
                clip=clip_for_list,
            ),
            request.storage.call(repository.id, languages_of, branch, cache.languages),
            request.storage.call(repository.id, list_branches, limit=0),
        )
    except (RefNotFound, ObjectNotFound, RepositoryNotFound):
        pass
    else:
        [commit] = await full_commits(request, listed.commits, signatures, PARTS)
        page = FrontPage(
            latest=LatestCommit(
                sha=commit.sha,
                message=commit.commit.message,
                author=commit.author,
                author_name=commit.commit.author.name,
                committed_at=commit.commit.committer.date,
            ),
            commit_count=listed.total,
            branch_count=branch_count,
            languages=languages,
        )
    if not caller.signed_in:
        return page
    async with request.db.read() as db:
        is_starred, is_watched = [
            await relations.contains(db, relation, repository.id, caller.id) for relation in (STARS, WATCHES)
        ]
    return msgspec.structs.replace(
        page, is_starred=is_starred and caller.may("read:user"), is_watched=is_watched
    )


routes = [get_front_page]
