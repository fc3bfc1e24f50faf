"""What a repository is made of: its languages and licences."""

from litestar import get

from ingot_chassis.errors import NotFound
from ingot_repos.api.policies import in_repository
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.git.errors import OutputTooLarge, RefNotFound, RepositoryNotFound
from ingot_repos.git.languages import languages_of
from ingot_repos.git.licenses import licenses_of


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/languages",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetLanguages",
    tags=["repository"],
)
async def get_languages(request: RepositoryRequest) -> dict[str, int]:
    """Bytes of each programming language in the default branch."""
    repository = request.resource
    try:
        return await request.storage.call(
            repository.id, languages_of, repository.row.default_branch, request.components.reads.languages
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
    """SPDX keys of the licences in the root folder of the default branch."""
    repository = request.resource
    try:
        return await request.storage.call(repository.id, licenses_of, repository.row.default_branch)
    except (RefNotFound, RepositoryNotFound):
        return []
    except OutputTooLarge as error:
        raise NotFound(str(error)) from None


routes = [get_languages, list_licenses]
