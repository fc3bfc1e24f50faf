"""Routes for tags and tag objects."""

from datetime import UTC

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import Conflict, NotFound
from ingot_contracts.limits import Name, Text
from ingot_contracts.repos.commits import Verification
from ingot_git.history import tags
from ingot_git.history.named_refs import named_ref
from ingot_git.history.new_objects import create_tag as create_tag_object
from ingot_git.history.tags import TagInfo
from ingot_git.process.errors import ObjectNotFound, RefMoved, RefNotFound, RepositoryNotFound
from ingot_git.refs.refs import BRANCHES, TAGS, ZERO_OID, RefChange, ref_target
from ingot_git.storage.read_cache import ReadCache
from ingot_repos.access.api.policies import in_repository
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.catalog.rules import names
from ingot_repos.changes.api.files import ref_updates
from ingot_repos.commits.api.views import CodePresenter, CommitMeta, CommitUser, commit_user
from ingot_repos.commits.rules.excerpts import clip_tag_for_list
from ingot_repos.commits.rules.server_keys import ServerKeys
from ingot_repos.commits.rules.signatures import UNSIGNED, Signatures, Signed
from ingot_repos.presentation.rules.announcements import person
from ingot_repos.releases.store import releases


class Tag(msgspec.Struct):
    """A tag. ``id`` is the id of the tag object; for a lightweight tag, of the commit."""

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
    """A new tag at `target`: a branch, tag or commit; by default the default branch.

    With a `message` the tag is annotated.
    """

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
async def list_tags(request: RepositoryRequest, q: str = "") -> Response[list[Tag]]:
    """List tags, latest first. With `q`, list only tags whose names contain it. Long texts are shortened."""
    repository, page, presenter = request.resource, request.page(), CodePresenter.of(request)
    try:
        listed, total = await request.storage.call(
            repository.id,
            tags.page_of_tags,
            part=q,
            offset=page.offset,
            limit=page.limit,
            times=request.part(ReadCache).tag_times,
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
async def get_tag(request: RepositoryRequest, tag: str) -> Tag:  # noqa: ARG001 - it is normalized
    """Get one tag. Its name may contain slashes."""
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
            repository.id, named_ref, data.target or BRANCHES + repository.row.default_branch
        )
    except (RefNotFound, RepositoryNotFound):
        raise NotFound("there is no such target") from None
    if await request.storage.call(repository.id, ref_target, TAGS + name) is not None:
        raise Conflict("a tag with this name already exists")
    oid = target.commit
    if data.message.strip():
        oid = await request.storage.call(
            repository.id,
            create_tag_object,
            name,
            target.commit,
            data.message.strip(),
            person(updates.actor),
            request.part(ServerKeys).signer,
        )
    try:
        await updates.apply([RefChange(TAGS + name, ZERO_OID, oid)])
    except RefMoved:
        raise Conflict("a tag with this or a conflicting name already exists") from None
    return await _tag(request, name)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/tags/{tag:path}",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoDeleteTag",
    tags=["repository"],
)
async def delete_tag(request: RepositoryRequest, tag: str) -> None:  # noqa: ARG001 - it is normalized
    """Delete a tag. Tags of releases cannot be deleted."""
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
    """Get the tag object with this id."""
    try:
        tag = await request.storage.call(request.resource.id, tags.annotated_tag, sha.lower())
    except (ObjectNotFound, RepositoryNotFound):
        raise NotFound from None
    signed = {tag.oid: Signed(tag.signature, tag.tagger.email)} if tag.signature else {}
    verifications = await request.part(Signatures).verify(request.resource.id, signed)
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
