"""Tags of commits, and tag objects."""

from datetime import UTC

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import Conflict, NotFound
from ingot_contracts.limits import Name, Text
from ingot_contracts.repos import Verification
from ingot_repos.api.code_views import CodePresenter, CommitMeta, CommitUser, commit_user
from ingot_repos.api.file_changes import ref_updates
from ingot_repos.api.policies import in_repository
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.core import names
from ingot_repos.core.excerpts import clip_tag_for_list
from ingot_repos.core.repositories import person
from ingot_repos.core.signatures import UNSIGNED, Signed, verify_all
from ingot_repos.git import tags
from ingot_repos.git.errors import ObjectNotFound, RefMoved, RefNotFound, RepositoryNotFound
from ingot_repos.git.named_refs import named_ref
from ingot_repos.git.refs import TAGS, ZERO_OID, RefChange, ref_target
from ingot_repos.git.tags import TagInfo
from ingot_repos.store import releases


class Tag(msgspec.Struct):
    """``id`` is that of the tag object, of a lightweight tag that of the commit."""

    name: str
    message: str
    id: str
    commit: CommitMeta
    zipball_url: str
    tarball_url: str


class TaggedObject(msgspec.Struct):
    type: str
    url: str
    sha: str


class AnnotatedTag(msgspec.Struct):
    tag: str
    sha: str
    url: str
    message: str
    tagger: CommitUser
    object: TaggedObject
    verification: Verification


class CreateTag(msgspec.Struct, kw_only=True):
    """A tag of `target`, which is a branch, a tag or a commit, else the default branch. With a `message` it is annotated."""

    tag_name: Name
    message: Text = ""
    target: Name = ""


def _view(presenter: CodePresenter, tag: TagInfo) -> Tag:
    archive = presenter.archive_url(tag.name)
    return Tag(
        name=tag.name,
        message=tag.message,
        id=tag.oid,
        commit=presenter.meta(tag.commit.oid, tag.commit.committer.when.astimezone(UTC)),
        zipball_url=f"{archive}.zip",
        tarball_url=f"{archive}.tar.gz",
    )


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/tags",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoListTags",
    tags=["repository"],
)
async def list_tags(request: RepositoryRequest) -> Response[list[Tag]]:
    """Tags, newest first, with long texts shortened."""
    repository, page, presenter = request.resource, request.page(), CodePresenter.of(request)
    try:
        listed, total = await request.storage.call(
            repository.id,
            tags.page_of_tags,
            offset=page.offset,
            limit=page.limit,
            times=request.components.reads.tag_times,
            clip=clip_tag_for_list,
        )
    except RepositoryNotFound:
        raise NotFound from None
    views = [_view(presenter, tag) for tag in listed]
    return Response(views, headers=request.page_headers(page, total))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/tags/{tag:path}",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetTag",
    tags=["repository"],
)
async def get_tag(request: RepositoryRequest, tag: str) -> Tag:  # noqa: ARG001 - it comes normalized
    """One tag; its name may hold slashes."""
    return await _tag(request, request.rest_of_path(6))


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/tags",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoCreateTag",
    tags=["repository"],
    status_code=201,
)
async def create_tag(request: RepositoryRequest, data: CreateTag) -> Tag:
    """Create a tag."""
    updates = await ref_updates(request)
    repository, name = request.resource, names.check_tag(data.tag_name)
    try:
        target = await request.storage.call(
            repository.id, named_ref, data.target or repository.row.default_branch
        )
    except (RefNotFound, RepositoryNotFound):
        raise NotFound("there is no such target") from None
    if await request.storage.call(repository.id, ref_target, TAGS + name) is not None:
        raise Conflict("there is a tag of that name already")
    oid = target.commit
    if data.message.strip():
        oid = await request.storage.call(
            repository.id, tags.write_tag, name, target.commit, data.message.strip(), person(updates.actor)
        )
    try:
        await updates.apply([RefChange(TAGS + name, ZERO_OID, oid)])
    except RefMoved:
        raise Conflict("there is a tag of that name, or one that is in its way") from None
    return await _tag(request, name)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/tags/{tag:path}",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoDeleteTag",
    tags=["repository"],
)
async def delete_tag(request: RepositoryRequest, tag: str) -> None:  # noqa: ARG001 - it comes normalized
    """Delete a tag that no release has."""
    updates = await ref_updates(request)
    repository, name = request.resource, request.rest_of_path(6)
    target = await request.storage.call(repository.id, ref_target, TAGS + name)
    if target is None:
        raise NotFound
    async with request.db.read() as db:
        row = await releases.get_by_tag(db, repository.id, name)
    if row is not None and row.tag_name == name:
        raise Conflict("a release has that tag; delete the release first")
    try:
        await updates.apply([RefChange(TAGS + name, target, ZERO_OID)])
    except RefMoved:
        raise Conflict("the tag has moved") from None


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/git/tags/{sha:str}",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="GetAnnotatedTag",
    tags=["repository"],
)
async def get_annotated_tag(request: RepositoryRequest, sha: str) -> AnnotatedTag:
    """The tag object with this id."""
    try:
        tag = await request.storage.call(request.resource.id, tags.annotated_tag, sha.lower())
    except (ObjectNotFound, RepositoryNotFound):
        raise NotFound from None
    signed = {tag.oid: Signed(tag.signature, tag.tagger.email)} if tag.signature else {}
    components = request.components
    verifications = await verify_all(components.identity, signed, components.reads.verdicts)
    presenter = CodePresenter.of(request)
    return AnnotatedTag(
        tag=tag.name,
        sha=tag.oid,
        url=presenter.object_url("tag", tag.oid),
        message=tag.message,
        tagger=commit_user(tag.tagger),
        object=TaggedObject(tag.kind, presenter.object_url(tag.kind, tag.target), tag.target),
        verification=verifications.get(tag.oid, UNSIGNED),
    )


async def _tag(request: RepositoryRequest, name: str) -> Tag:
    try:
        tag = await request.storage.call(request.resource.id, tags.get_tag, name)
    except (RefNotFound, RepositoryNotFound):
        raise NotFound from None
    return _view(CodePresenter.of(request), tag)


routes = [list_tags, get_tag, create_tag, delete_tag, get_annotated_tag]
