"""Languages and licences of a repository."""

from litestar import get

from ingot_chassis.errors import NotFound
from ingot_git.history.languages import languages_of
from ingot_git.history.licenses import licenses_of
from ingot_git.process.errors import OutputTooLarge, RefNotFound, RepositoryNotFound
from ingot_git.storage.read_cache import ReadCache
from ingot_repos.access.api.policies import in_repository
from ingot_repos.access.api.request import RepositoryRequest


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/languages",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetLanguages",
    tags=["repository"],
)
async def get_languages(request: RepositoryRequest) -> dict[str, int]:
    """Get the bytes of each programming language in the default branch."""
    repository = request.resource
    try:
        return await request.storage.call(
            repository.id, languages_of, repository.row.default_branch, request.part(ReadCache).languages
        )
    except (RefNotFound, RepositoryNotFound):
        return {}


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/licenses",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetLicenses",
    tags=["repository"],
)
async def list_licenses(request: RepositoryRequest) -> list[str]:
    """List the SPDX keys of the licences in the root folder of the default branch."""
    repository = request.resource
    try:
        return await request.storage.call(repository.id, licenses_of, repository.row.default_branch)
    except (RefNotFound, RepositoryNotFound):
        return []
    except OutputTooLarge as error:
        raise NotFound(str(error)) from None


routes = [get_languages, list_licenses]
