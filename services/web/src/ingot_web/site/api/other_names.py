"""Redirects from URLs of Gitea to the corresponding pages."""

from urllib.parse import quote

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.clients.forge import at
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.webhooks.api.repositories import TYPES

_OWNED = "/{owner:str}/{repo:str}"
_TEAM = "/org/{org:str}/teams/{team:str}"
NAMES = {
    "/user/login": "/login",
    "/user/logout": "/login",
    "/user/settings/account": "/user/settings/security",
    "/user/settings/change_password": "/user/settings/security",
    "/user/settings/profile": "/user/settings",
    "/user/settings/repos": "/",
    "/user/settings/security/two_factor": "/user/settings/two_factor",
    "/user/settings/security/two_factor/enroll": "/user/settings/two_factor",
    "/-/admin": "/admin",
    "/-/admin/users": "/admin/users",
    "/-/admin/users/new": "/admin/users",
    "/-/admin/orgs": "/admin/orgs",
    "/-/admin/repos": "/explore/repos",
    "/-/admin/monitor/cron": "/admin/tasks",
    "/-/admin/monitor/queue": "/admin/jobs",
    "/admin/monitor/cron": "/admin/tasks",
    "/admin/monitor/queue": "/admin/jobs",
    "/admin/repos": "/explore/repos",
    "/org/{org:str}/dashboard": "/{org}",
    "/org/{org:str}/members": "/{org}?tab=members",
    "/org/{org:str}/teams": "/{org}?tab=teams",
    "/org/{org:str}/teams/new": "/org/{org}/settings/teams",
    "/org/{org:str}/settings/delete": "/org/{org}/settings",
    "/org/{org:str}/settings/options": "/org/{org}/settings",
    f"{_OWNED}/src": "/{owner}/{repo}",
    f"{_OWNED}/tags/list": "/{owner}/{repo}/tags",
    f"{_OWNED}/branches/list": "/{owner}/{repo}/branches",
    f"{_OWNED}/issues/new/choose": "/{owner}/{repo}/issues/new",
    f"{_OWNED}/pulls/new/{{ref:path}}": "/{owner}/{repo}/compare{ref}",
    f"{_OWNED}/milestones/{{milestone_id:int}}": "/{owner}/{repo}/milestone/{milestone_id}",
    f"{_OWNED}/pulls/{{index:int}}/commits/{{sha:str}}": "/{owner}/{repo}/commit/{sha}",
    f"{_OWNED}/pulls/{{index:int}}/files/{{ref:path}}": "/{owner}/{repo}/pulls/{index}/files",
    **{
        f"{_OWNED}/settings/hooks/{kind}/new": f"/{{owner}}/{{repo}}/settings/hooks/new?type={kind}"
        for kind in TYPES
    },
}
"""Each URL of Gitea with the corresponding page."""


def _route(name: str, page: str) -> HTTPRouteHandler:
    @get(name, policy=anyone(), include_in_schema=False)
    async def other_name(request: WebRequest) -> Response[bytes]:
        """Redirect to the page, with the same query."""
        values = {key: quote(str(value)) for key, value in request.path_params.items()}
        return request.redirect_with_query(page.format(**values))

    return other_name


@get(f"{_OWNED}/releases/latest", policy=anyone(), include_in_schema=False)
async def latest_release(request: WebRequest) -> Response[bytes]:
    """Redirect to the latest release that is neither a draft nor a prerelease."""
    frame = RepositoryFrame(request)
    (release,) = await frame.load(frame.forge.get("repos", frame.api("releases", "latest")))
    return frame.redirect(f"/releases/tag/{quote(release['tag_name'])}")


@get("/user/settings/organization", policy=anyone(), include_in_schema=False)
async def organizations(request: WebRequest) -> Response[bytes]:
    """Redirect to the page of the caller, which lists their organizations."""
    request.require_signed_in()
    return request.redirect(at(request.principal.name))


@get([f"{_OWNED}/commits", f"{_OWNED}/graph"], policy=anyone(), include_in_schema=False)
async def commits(request: WebRequest) -> Response[bytes]:
    """Redirect to the commits of the default branch."""
    frame = RepositoryFrame(request)
    await frame.load()
    branch = quote(frame.repository["default_branch"])
    return request.redirect_with_query(f"{frame.base}/commits/branch/{branch}")


@get([_TEAM, f"{_TEAM}/repositories", f"{_TEAM}/edit"], policy=anyone(), include_in_schema=False)
async def team(request: WebRequest, org: str, team: str) -> Response[bytes]:
    """Redirect to a team by its name, or to its form."""
    teams = await request.forge.listing("identity", at("orgs", org, "teams", "search"), q=team, limit=50)
    numbers = [one["id"] for one in teams.rows if one["name"].lower() == team.lower()]
    if not numbers:
        raise NotFound
    form = "/edit" if request.rest(4) == "edit" else ""
    return request.redirect(f"{at('org', org)}/settings/teams/{numbers[0]}{form}")


routes = [*(_route(name, page) for name, page in NAMES.items()), latest_release, organizations, commits, team]
