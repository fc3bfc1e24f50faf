"""Issue templates and the issue configuration, from files of the default branch."""

import asyncio

import msgspec
from litestar import Response, get

from ingot_git.history.folder_files import files_of_first_folder
from ingot_git.process.errors import ObjectNotFound, OutputTooLarge, RefNotFound, RepositoryNotFound
from ingot_repos.access.api.policies import in_repository
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.files.rules import (
    MOST_BYTES,
    InvalidForm,
    IssueConfig,
    IssueTemplate,
    read_config,
    read_templates,
)

FOLDERS = tuple(
    f"{parent}{name}"
    for parent in (".gitea/", ".github/", "")
    for name in ("ISSUE_TEMPLATE", "issue_template")
)
"""Folders of templates, in the order of the search."""
CONFIGS = ("config.yaml", "config.yml")
ENDINGS = (".md", ".yaml", ".yml")
MOST_FILES = 100


class IssueConfigCheck(msgspec.Struct):
    """The result of checking the issue configuration; `message` describes the error."""

    valid: bool
    message: str


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/issue_templates",
    policy=in_repository("read", "read:repository", unit=None, on_disk=True),
    operation_id="repoGetIssueTemplates",
    tags=["repository"],
)
async def list_issue_templates(request: RepositoryRequest) -> Response[list[IssueTemplate]]:
    """List issue templates. The header `X-Gitea-Warning` has the number of unreadable templates."""
    files = {
        path: content
        for path, content in (await _files(request)).items()
        if path.endswith(ENDINGS) and not path.endswith(CONFIGS)
    }
    templates, broken = await asyncio.to_thread(read_templates, files)
    headers = {"X-Gitea-Warning": f"{broken} issue templates cannot be read"} if broken else {}
    return Response(templates, headers=headers)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/issue_config",
    policy=in_repository("read", "read:repository", unit=None, on_disk=True),
    operation_id="repoGetIssueConfig",
    tags=["repository"],
)
async def get_issue_config(request: RepositoryRequest) -> IssueConfig:
    """Get the issue configuration. For an invalid file, return the default, which allows blank issues."""
    try:
        return await _config(request)
    except InvalidForm:
        return IssueConfig()


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/issue_config/validate",
    policy=in_repository("read", "read:repository", unit=None, on_disk=True),
    operation_id="repoValidateIssueConfig",
    tags=["repository"],
)
async def validate_issue_config(request: RepositoryRequest) -> IssueConfigCheck:
    """Check the issue configuration. A missing file is valid."""
    try:
        await _config(request)
    except InvalidForm as error:
        return IssueConfigCheck(valid=False, message=str(error))
    return IssueConfigCheck(valid=True, message="")


async def _config(request: RepositoryRequest) -> IssueConfig:
    """Return the issue configuration of the repository. Raises InvalidForm."""
    files = await _files(request)
    path = next((path for path in files if path.endswith(CONFIGS)), "")
    return await asyncio.to_thread(read_config, files[path]) if path else IssueConfig()


async def _files(request: RepositoryRequest) -> dict[str, bytes | None]:
    """Return files of the first existing folder of ``FOLDERS`` by path; None for a file that is too large."""
    repository = request.resource
    try:
        return await request.storage.call(
            repository.id,
            files_of_first_folder,
            repository.row.default_branch,
            FOLDERS,
            most=MOST_FILES,
            most_bytes=MOST_BYTES,
        )
    except (RefNotFound, ObjectNotFound, RepositoryNotFound, OutputTooLarge):
        return {}


routes = [list_issue_templates, get_issue_config, validate_issue_config]
