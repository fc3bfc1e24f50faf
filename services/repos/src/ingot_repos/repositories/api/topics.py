"""Topics of repositories and the search for topics."""

from datetime import datetime
from typing import Annotated

import msgspec
from litestar import Response, delete, get, put

from ingot_chassis.http.policy import anyone
from ingot_contracts.limits import Name
from ingot_repos.access.api.policies import in_repository, writable
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.repositories.rules.topics import MOST, add_topic, remove_topic, replace_topics
from ingot_repos.repositories.store import topics


class TopicNames(msgspec.Struct):
    topics: list[str]


class ReplaceTopics(msgspec.Struct, kw_only=True):
    """All topics of a repository. An absent or empty list removes all."""

    topics: Annotated[list[Name], msgspec.Meta(max_length=MOST)] = []


class Topic(msgspec.Struct):
    """A topic. ``repo_count`` counts only repositories that the caller may see."""

    id: int
    topic_name: str
    repo_count: int
    created: datetime
    updated: datetime


class Topics(msgspec.Struct):
    topics: list[Topic]


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/topics",
    policy=in_repository("read", "read:repository", unit=None),
    operation_id="repoListTopics",
    is_paged=True,
    tags=["repository"],
)
async def list_topics(request: RepositoryRequest) -> Response[TopicNames]:
    """List the topics of a repository by name."""
    page = request.page()
    async with request.db.read() as db:
        names = await topics.names_of(db, request.resource.id)
    part = names[page.offset : page.offset + page.limit]
    return Response(TopicNames(part), headers=request.page_headers(page, len(names)))


@put(
    "/api/v1/repos/{owner:str}/{repo:str}/topics",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="repoUpdateTopics",
    tags=["repository"],
    status_code=204,
)
async def put_topics(request: RepositoryRequest, data: ReplaceTopics) -> None:
    """Replace the topics of a repository."""
    repository = writable(request)
    async with request.db.transaction() as tx:
        await replace_topics(tx, repository.id, data.topics)


@put(
    "/api/v1/repos/{owner:str}/{repo:str}/topics/{topic:str}",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="repoAddTopic",
    tags=["repository"],
    status_code=204,
)
async def put_topic(request: RepositoryRequest, topic: str) -> None:
    """Add a topic to a repository. Do nothing if the repository has the topic."""
    repository = writable(request)
    async with request.db.transaction() as tx:
        await add_topic(tx, repository.id, topic)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/topics/{topic:str}",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="repoDeleteTopic",
    tags=["repository"],
)
async def delete_topic(request: RepositoryRequest, topic: str) -> None:
    """Remove a topic from a repository."""
    repository = writable(request)
    async with request.db.transaction() as tx:
        await remove_topic(tx, repository.id, topic)


@get(
    "/api/v1/topics/search",
    policy=anyone("read:repository"),
    operation_id="topicSearch",
    is_paged=True,
    tags=["repository"],
)
async def search_topics(request: RepositoryRequest, q: str = "") -> Response[Topics]:
    """List topics whose names contain `q`, of repositories that the caller may see."""
    page, text = request.page(), q.strip().lower()
    async with request.db.read() as db:
        rows, total = await topics.search(db, access.viewer(request.principal), text, page)
    views = [
        Topic(
            id=row.id,
            topic_name=row.name,
            repo_count=row.repo_count,
            created=row.created_at.replace(microsecond=0),
            updated=row.updated_at.replace(microsecond=0),
        )
        for row in rows
    ]
    return Response(Topics(views), headers=request.page_headers(page, total))


routes = [list_topics, put_topics, put_topic, delete_topic, search_topics]
