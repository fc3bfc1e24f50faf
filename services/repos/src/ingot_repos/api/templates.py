"""Templates that a new repository can begin with."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
from litestar import Response, get

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.policy import anyone
from ingot_repos.api.call import Call
from ingot_repos.core import templates

_T = TypeVar("_T")


class GitignoreTemplate(msgspec.Struct):
    name: str
    source: str


class LicenseListed(msgspec.Struct):
    """`key` is what a new repository is made with."""

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
async def list_gitignores(request: Call) -> Response[list[str]]:
    """Names of the templates for `.gitignore`."""
    return _page(request, list(templates.GITIGNORES))


@get(
    "/api/v1/gitignore/templates/{name:str}",
    policy=anyone("read:misc"),
    operation_id="getGitignoreTemplateInfo",
    tags=["miscellaneous"],
)
async def get_gitignore(name: str) -> GitignoreTemplate:
    """A template for `.gitignore`."""
    found = _named(name, templates.GITIGNORES)
    return GitignoreTemplate(found, templates.GITIGNORES[found])


@get(
    "/api/v1/licenses",
    policy=anyone("read:misc"),
    operation_id="listLicenseTemplates",
    tags=["miscellaneous"],
)
async def list_licenses(request: Call) -> Response[list[LicenseListed]]:
    """Licences that a new repository can be made with."""
    known = [
        LicenseListed(key, templates.LICENSE_NAMES[key], _url(request, key)) for key in templates.LICENSES
    ]
    return _page(request, known)


@get(
    "/api/v1/licenses/{name:str}",
    policy=anyone("read:misc"),
    operation_id="getLicenseTemplateInfo",
    tags=["miscellaneous"],
)
async def get_license(request: Call, name: str) -> LicenseTemplate:
    """The text of a licence; year and holder are still to be filled in."""
    key = _named(name, templates.LICENSES)
    return LicenseTemplate(
        key=key,
        name=templates.LICENSE_NAMES[key],
        url=_url(request, key),
        body=templates.LICENSES[key],
        implementation="Put the text into a file called LICENSE, with the year and the name of the holder.",
    )


def _url(request: Call, key: str) -> str:
    return f"{request.public_url}api/v1/licenses/{key}"


def _named(name: str, known: Mapping[str, str]) -> str:
    try:
        return templates.named("name", name, known)
    except Invalid:
        raise NotFound from None


def _page(request: Call, rows: Sequence[_T]) -> Response[list[_T]]:
    page = request.page()
    return Response(
        list(rows[page.offset : page.offset + page.limit]), headers=request.page_headers(page, len(rows))
    )


routes = [list_gitignores, get_gitignore, list_licenses, get_license]
