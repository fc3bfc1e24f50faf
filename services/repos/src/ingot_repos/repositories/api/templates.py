"""Templates for the first files and labels of a repository."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
from litestar import Response, get

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.http.policy import anyone
from ingot_contracts.repos.events import FirstLabel
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.repositories.rules import templates

_T = TypeVar("_T")


class GitignoreTemplate(msgspec.Struct):
    name: str
    source: str


class LicenseListed(msgspec.Struct):
    """A licence. `key` is the value of `license` in requests."""

    key: str
    name: str
    url: str


class LicenseTemplate(msgspec.Struct):
    key: str
    name: str
    url: str
    body: str
    implementation: str


@get(
    "/api/v1/gitignore/templates",
    policy=anyone("read:misc"),
    operation_id="listGitignoresTemplates",
    tags=["miscellaneous"],
)
async def list_gitignores(request: RepositoryRequest) -> Response[list[str]]:
    """List the names of `.gitignore` templates."""
    return _page(request, list(templates.GITIGNORES))


@get(
    "/api/v1/gitignore/templates/{name:str}",
    policy=anyone("read:misc"),
    operation_id="getGitignoreTemplateInfo",
    tags=["miscellaneous"],
)
async def get_gitignore(name: str) -> GitignoreTemplate:
    """Return a `.gitignore` template."""
    key = _named(name, templates.GITIGNORES)
    return GitignoreTemplate(key, templates.GITIGNORES[key])


@get(
    "/api/v1/licenses",
    policy=anyone("read:misc"),
    operation_id="listLicenseTemplates",
    tags=["miscellaneous"],
)
async def list_licenses(request: RepositoryRequest) -> Response[list[LicenseListed]]:
    """List licences for new repositories."""
    licenses = [
        LicenseListed(key, templates.LICENSE_NAMES[key], _url(request, key)) for key in templates.LICENSES
    ]
    return _page(request, licenses)


@get(
    "/api/v1/licenses/{name:str}",
    policy=anyone("read:misc"),
    operation_id="getLicenseTemplateInfo",
    tags=["miscellaneous"],
)
async def get_license(request: RepositoryRequest, name: str) -> LicenseTemplate:
    """Return the text of a licence. Year and holder are not filled in."""
    key = _named(name, templates.LICENSES)
    return LicenseTemplate(
        key=key,
        name=templates.LICENSE_NAMES[key],
        url=_url(request, key),
        body=templates.LICENSES[key],
        implementation="Put the text into a file called LICENSE, with the year and the name of the holder.",
    )


@get(
    "/api/v1/label/templates",
    policy=anyone("read:misc"),
    operation_id="listLabelTemplates",
    tags=["miscellaneous"],
)
async def list_label_sets(request: RepositoryRequest) -> Response[list[str]]:
    """List the names of label sets for new repositories."""
    return _page(request, list(templates.LABELS))


@get(
    "/api/v1/label/templates/{name:str}",
    policy=anyone("read:misc"),
    operation_id="getLabelTemplateInfo",
    tags=["miscellaneous"],
)
async def get_label_set(name: str) -> list[FirstLabel]:
    """Return the labels of a set."""
    return templates.LABELS[_named(name, templates.LABELS)]


def _url(request: RepositoryRequest, key: str) -> str:
    return f"{request.public_url}api/v1/licenses/{key}"


def _named(name: str, texts: Mapping[str, object]) -> str:
    try:
        return templates.named("name", name, texts)
    except Invalid:
        raise NotFound from None


def _page(request: RepositoryRequest, rows: Sequence[_T]) -> Response[list[_T]]:
    page = request.page()
    return Response(
        list(rows[page.offset : page.offset + page.limit]), headers=request.page_headers(page, len(rows))
    )


routes = [list_gitignores, get_gitignore, list_licenses, get_license, list_label_sets, get_label_set]
