"""Routes for organizations: creation, settings, members, teams, labels and exports."""

from asyncio import gather
from collections.abc import Coroutine, Mapping
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Denied, Invalid
from ingot_chassis.http.policy import anyone
from ingot_contracts.identity.units import UNITS, Unit
from ingot_web.clients.forge import at
from ingot_web.forms.rules.fields import Form, require_typed
from ingot_web.labels.api import LABEL_ACTS, send_label
from ingot_web.pages.api.avatars import send_avatar
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.imports import SECONDS

SHOWN = 50
FIELDS = ("full_name", "description", "website", "location")
BY_UNIT = "by unit"
"""The choice in the form for a team whose permission differs by unit."""
LEVELS = (
    ("read", "Read"), ("write", "Write"), ("admin", "Administer"), (BY_UNIT, "As chosen for each unit")
)  # fmt: skip
UNITS_OF_TEAMS: dict[Unit, str] = {
    "code": "Code", "issues": "Issues", "pulls": "Pull requests", "releases": "Releases", "wiki": "Wiki"
}  # fmt: skip
NO_UNITS: Mapping[str, str] = {}
LEVELS_IN_UNITS = (("none", "None"), ("read", "Read"), ("write", "Write"))
TEAM_FLAGS = {
    "includes_all_repositories": "It has all repositories of the organization, also later ones",
    "can_create_org_repo": "Its members make repositories of the organization",
}
VISIBILITIES = (("public", "Everybody"), ("limited", "Who is signed in"), ("private", "Members only"))
SETTINGS = "/org/{org:str}/settings"
REPOSITORIES_PAGE, INVITATIONS_PAGE = "repositories", "invitations"
"""Query parameters for the pages of a team's repositories and invitations."""


@get("/org/create", policy=anyone(), include_in_schema=False)
async def new(request: WebRequest) -> Response[str]:
    """Show the form of a new organization."""
    request.require_signed_in()
    return _new_page(request, Form())


def _new_page(request: WebRequest, form: Form, problem: ApiError | None = None) -> Response[str]:
    return request.render(
        "organizations/new.html",
        title="New organization",
        error=problem,
        form=form,
        visibilities=VISIBILITIES,
    )


@post("/org/create", policy=anyone(), include_in_schema=False)
async def create(request: WebRequest) -> Response[Any]:
    """Create an organization. The caller becomes its owner."""
    form = await request.sent_form()
    body = {name: form.text(name) for name in ("username", "full_name", "description")}
    try:
        organization = await request.forge.send(
            "POST", "identity", "/orgs", body | {"visibility": form.get("visibility", "public")}
        )
    except ApiError as error:
        return _new_page(request, form, error)
    return request.redirect(at(organization["username"]))


class OrganizationPages:
    """The settings pages of an organization, for one request.

    ``load`` sets ``is_owner`` and the values for ``render``.
    """

    def __init__(self, request: WebRequest, org: str) -> None:
        self.request, self.org, self.forge = request, org, request.forge
        request.require_signed_in()
        self._organization: Any = None
        self.is_owner = False
        """True if the caller may change the organization, its teams and labels."""
        self.is_administrator = False
        """True if the caller is an owner, or in a team that administers repositories."""

    def api(self, *segments: str | int) -> str:
        return at("orgs", self.org, *segments)

    @property
    def address(self) -> str:
        """Return the path of the settings pages, without the root of the site."""
        return f"/org{at(self.org)}/settings"

    def redirect(self, part: str = "") -> Response[bytes]:
        return self.request.redirect(self.address + part)

    async def load(self, *questions: Coroutine[Any, Any, Any]) -> list[Any]:
        """Request the organization and ``questions`` in parallel. Return the responses to ``questions``.

        Raises the error of the API if the caller may not see the organization's teams.
        """
        results = await gather(
            self.forge.get("identity", self.api("teams"), limit=1),
            self.forge.get("identity", self.api()),
            self._permissions(),
            *questions,
            return_exceptions=True,
        )
        for answer in results:
            if isinstance(answer, BaseException):
                raise answer
        permissions: Any
        _, self._organization, permissions, *answers = results
        self.is_owner, self.is_administrator = permissions["is_owner"], permissions["is_admin"]
        return answers

    async def _permissions(self) -> Any:
        principal = self.request.principal
        if principal.admin:
            return {"is_owner": True, "is_admin": True}
        return await self.forge.get("identity", at("users", principal.name, "orgs", self.org, "permissions"))

    def require_owner(self, what: str) -> None:
        """Raise Denied unless the caller is an owner.

        ``what`` names the object that only owners may change.
        """
        if not self.is_owner:
            raise Denied(f"only owners of the organization change {what}")

    def render(
        self, part: str, title: str, problem: ApiError | None = None, *, template: str = "", **values: Any
    ) -> Response[str]:
        """Return a page of settings. The default template has the name of the part."""
        return self.request.render(
            template or f"organizations/{part}.html",
            title=f"{title} · {self._organization['username']}",
            heading=title,
            part=part,
            organization=self._organization,
            is_owner=self.is_owner,
            base=f"{self.request.root}/org{at(self.org)}/settings",
            error=problem,
            **values,
        )


@get(SETTINGS, policy=anyone(), include_in_schema=False)
async def general(request: WebRequest, org: str) -> Response[str]:
    """Show the public data of the organization, its name, and the form to delete it."""
    return await _general(OrganizationPages(request, org), Form())


async def _general(pages: OrganizationPages, form: Form, problem: ApiError | None = None) -> Response[str]:
    await pages.load()
    return pages.render("general", "Organization", problem, form=form, visibilities=VISIBILITIES)


@post(SETTINGS, policy=anyone(), include_in_schema=False)
async def edit(request: WebRequest, org: str) -> Response[Any]:
    """Change or rename the organization, or delete it if the form repeats its name."""
    form, pages = await request.sent_form(), OrganizationPages(request, org)
    try:
        match form.text("do"):
            case "rename":
                body = {"new_name": form.text("new_name")}
                await pages.forge.send("POST", "identity", pages.api("rename"), body)
                return request.redirect(f"/org{at(form.text('new_name'))}/settings")
            case "delete":
                require_typed(form.text("typed"), org)
                await pages.forge.send("DELETE", "identity", pages.api())
                return request.redirect("/")
            case "save":
                body = {name: form.text(name) for name in FIELDS} | {"visibility": form.text("visibility")}
                await pages.forge.send("PATCH", "identity", pages.api(), body)
            case _:
                raise Invalid.field("do", "unknown", "is nothing that is done here")
    except ApiError as error:
        return await _general(pages, form, error)
    return request.redirect_with_outcome(pages.address, "saved")


@post(f"{SETTINGS}/avatar", policy=anyone(), include_in_schema=False)
async def change_avatar(request: WebRequest, org: str) -> Response[Any]:
    """Set or remove the picture of the organization."""
    form, pages = await request.sent_form(), OrganizationPages(request, org)
    try:
        await send_avatar(pages.forge, "identity", pages.api("avatar"), form)
    except ApiError as error:
        return await _general(pages, form, error)
    return request.redirect_with_outcome(pages.address, "saved")


@get(f"{SETTINGS}/members", policy=anyone(), include_in_schema=False)
async def members(request: WebRequest, org: str) -> Response[str]:
    """List all members. People become members by joining a team."""
    return await _members(OrganizationPages(request, org))


async def _members(pages: OrganizationPages, problem: ApiError | None = None) -> Response[str]:
    number = pages.request.number
    (listing,) = await pages.load(
        pages.forge.listing("identity", pages.api("members"), page=number, limit=SHOWN)
    )
    return pages.render(
        "members", "Members", problem, listing=listing, pages=pages.request.pages_of(listing.total, SHOWN)
    )


@post(f"{SETTINGS}/members", policy=anyone(), include_in_schema=False)
async def remove_member(request: WebRequest, org: str) -> Response[Any]:
    """Remove a member from the organization and all its teams."""
    form, pages = await request.sent_form(), OrganizationPages(request, org)
    try:
        await pages.forge.send("DELETE", "identity", pages.api("members", form.text("login")))
    except ApiError as error:
        return await _members(pages, error)
    return pages.redirect("/members")


@get(f"{SETTINGS}/teams", policy=anyone(), include_in_schema=False)
async def teams(request: WebRequest, org: str) -> Response[str]:
    """List the teams, and show the form of a new team."""
    return await _teams(OrganizationPages(request, org), Form())


async def _teams(pages: OrganizationPages, form: Form, problem: ApiError | None = None) -> Response[str]:
    number = pages.request.number
    (listing,) = await pages.load(
        pages.forge.listing("identity", pages.api("teams"), page=number, limit=SHOWN)
    )
    values = {"listing": listing, **_team_form(form)}
    return pages.render(
        "teams", "Teams", problem, pages=pages.request.pages_of(listing.total, SHOWN), **values
    )


@post(f"{SETTINGS}/teams", policy=anyone(), include_in_schema=False)
async def change_teams(request: WebRequest, org: str) -> Response[Any]:
    """Create or delete a team."""
    form, pages = await request.sent_form(), OrganizationPages(request, org)
    try:
        if form.has("remove"):
            await pages.forge.send("DELETE", "identity", at("teams", form.text("remove")))
        else:
            await pages.forge.send("POST", "identity", pages.api("teams"), _team_of(form))
    except ApiError as error:
        return await _teams(pages, form, error)
    return pages.redirect("/teams")


def _team_of(form: Form) -> dict[str, Any]:
    """Return the API request for the form of a team. For the team Owners it has only the description."""
    if not form.has("permission"):
        return {"description": form.text("description")}
    body: dict[str, Any] = {name: form.text(name) for name in ("name", "description", "permission")}
    if body["permission"] == BY_UNIT:
        del body["permission"]
        body["units_map"] = {
            f"repo.{unit}": form.text(f"unit_{unit}") for unit in UNITS if f"unit_{unit}" in form
        }
    return body | {flag: form.has(flag) for flag in TEAM_FLAGS}


def _team_form(form: Form | dict[str, Any], units_map: Mapping[str, str] = NO_UNITS) -> dict[str, Any]:
    """Return the values of the form of a team. ``units_map`` has its current permissions."""
    chosen = {unit: form.get(f"unit_{unit}") or units_map.get(f"repo.{unit}") for unit in UNITS}
    return {
        "form": form,
        "levels": LEVELS,
        "flags": TEAM_FLAGS,
        "units": [(unit, text, chosen[unit] or "none") for unit, text in UNITS_OF_TEAMS.items()],
        "other_units": [
            (unit, level) for unit, level in chosen.items() if level and unit not in UNITS_OF_TEAMS
        ],
        "levels_in_units": LEVELS_IN_UNITS,
    }


@get(f"{SETTINGS}/teams/{{team:int}}", policy=anyone(), include_in_schema=False)
async def team(request: WebRequest, org: str, team: int) -> Response[str]:
    """Show the members and the repositories of a team."""
    return await _team(OrganizationPages(request, org), team, Form())


async def _team(
    pages: OrganizationPages, team_id: int, form: Form, problem: ApiError | None = None
) -> Response[str]:
    path, request = at("teams", team_id), pages.request
    shown, people, repositories, invitations = await pages.load(
        pages.forge.get("identity", path),
        pages.forge.listing("identity", f"{path}/members", page=request.number, limit=SHOWN),
        pages.forge.listing("repos", f"{path}/repos", page=request.number_of(REPOSITORIES_PAGE), limit=SHOWN),
        # Only owners see these.
        pages.forge.listing_if_there(
            "identity",
            pages.api("teams", team_id, "invitations"),
            page=request.number_of(INVITATIONS_PAGE),
            limit=SHOWN,
        ),
    )
    values = {
        "team": shown,
        "levels_by_unit": shown["units_map"] if is_mixed(shown) else {},
        "form": form,
        "people": people,
        "people_pages": request.pages_of(people.total, SHOWN),
        "repositories": repositories,
        "repository_pages": request.pages_of(repositories.total, SHOWN, REPOSITORIES_PAGE),
        "invitations": invitations,
        "invitation_pages": request.pages_of(invitations.total, SHOWN, INVITATIONS_PAGE),
        "flags": TEAM_FLAGS,
        # An administrator of a single repository adds it to a team in the settings of that repository.
        "gives_repositories": pages.is_administrator and not shown["includes_all_repositories"],
    }
    return pages.render("team", shown["name"], problem, **values)


def is_mixed(team: Any) -> bool:
    """True if the permission of a team differs between its units."""
    return not set(team.get("units_map", {}).values()) <= {team["permission"]}


@post(f"{SETTINGS}/teams/{{team:int}}", policy=anyone(), include_in_schema=False)
async def change_team(request: WebRequest, org: str, team: int) -> Response[Any]:
    """Add or remove one member or repository of a team, or send or withdraw an invitation."""
    form, pages = await request.sent_form(), OrganizationPages(request, org)
    method = "DELETE" if form.has("remove") else "PUT"
    try:
        if form.has("withdraw"):
            path = pages.api("teams", team, "invitations", form.text("withdraw"))
            await pages.forge.send("DELETE", "identity", path)
        elif "email" in form:
            path = pages.api("teams", team, "members")
            await pages.forge.send("POST", "identity", path, {"email": form.text("email")})
        elif form.has("login"):
            path = at("teams", team, "members", form.text("login"))
            await pages.forge.send(method, "identity", path)
        else:
            path = at("teams", team, "repos", org, form.text("repository"))
            await pages.forge.send(method, "repos", path)
    except ApiError as error:
        return await _team(pages, team, form, error)
    return pages.redirect(f"/teams/{team}")


@get(f"{SETTINGS}/teams/{{team:int}}/edit", policy=anyone(), include_in_schema=False)
async def edit_team(request: WebRequest, org: str, team: int) -> Response[str]:
    """Show the form to edit an existing team."""
    return await _edit_team_page(OrganizationPages(request, org), team)


async def _edit_team_page(
    pages: OrganizationPages, team_id: int, form: Form | None = None, problem: ApiError | None = None
) -> Response[str]:
    (shown,) = await pages.load(pages.forge.get("identity", at("teams", team_id)))
    pages.require_owner("its teams")
    present = shown | {"permission": BY_UNIT} if is_mixed(shown) else shown
    values = {"team": shown, **_team_form(form or present, shown.get("units_map", {}))}
    return pages.render("edit_team", f"Edit {shown['name']}", problem, **values)


@post(f"{SETTINGS}/teams/{{team:int}}/edit", policy=anyone(), include_in_schema=False)
async def save_team(request: WebRequest, org: str, team: int) -> Response[Any]:
    """Change the name, the description and the permissions of a team."""
    form, pages = await request.sent_form(), OrganizationPages(request, org)
    try:
        await pages.forge.send("PATCH", "identity", at("teams", team), _team_of(form))
    except ApiError as error:
        return await _edit_team_page(pages, team, form, error)
    return pages.redirect(f"/teams/{team}")


@get(f"{SETTINGS}/labels", policy=anyone(), include_in_schema=False)
async def labels(request: WebRequest, org: str) -> Response[str]:
    """List labels that all repositories of the organization have."""
    return await _labels(OrganizationPages(request, org), Form())


async def _labels(pages: OrganizationPages, form: Form, problem: ApiError | None = None) -> Response[str]:
    number = pages.request.number
    (listing,) = await pages.load(
        pages.forge.listing("issues", pages.api("labels"), page=number, limit=SHOWN)
    )
    values = {"listing": listing, "form": form, "pages": pages.request.pages_of(listing.total, SHOWN)}
    return pages.render("labels", "Labels", problem, **values)


@post([f"{SETTINGS}/labels/{act}" for act in LABEL_ACTS], policy=anyone(), include_in_schema=False)
async def change_label(request: WebRequest, org: str) -> Response[Any]:
    """Create, edit or delete a label."""
    form, pages = await request.sent_form(), OrganizationPages(request, org)
    try:
        await send_label(request, pages.api("labels"), form)
    except ApiError as error:
        return await _labels(pages, form, error)
    return pages.redirect("/labels")


@get(f"{SETTINGS}/export", policy=anyone(), include_in_schema=False)
async def export(request: WebRequest, org: str) -> Response[str]:
    """Show the archives of the organization, and the progress of the latest export."""
    return await _export(OrganizationPages(request, org))


async def _export(pages: OrganizationPages, problem: ApiError | None = None) -> Response[str]:
    """Return the page of the archives. It refreshes while an export runs."""
    request, latest = pages.request, None
    (exports,) = await pages.load(pages.forge.listing("repos", pages.api("exports"), limit=SHOWN))
    values: dict[str, Any] = {"exports": exports.rows}
    if exports.rows:
        latest = exports.rows[0]
        parts = await pages.forge.listing(
            "repos",
            pages.api("exports", latest["id"], "repositories"),
            page=request.number,
            limit=SHOWN,
        )
        values |= {"parts": parts.rows, "pages": request.pages_of(parts.total, SHOWN)}
    is_running = latest is not None and latest["status"] == "running"
    is_watched = is_running and request.query_params.get("refresh") != "no"
    values |= {"latest": latest, "is_running": is_running, "is_watched": is_watched, "seconds": SECONDS}
    return pages.render("export", "Export", problem, **values)


@post(f"{SETTINGS}/export", policy=anyone(), include_in_schema=False)
async def change_export(request: WebRequest, org: str) -> Response[Any]:
    """Begin an export, cancel it, or delete its archive."""
    form, pages = await request.sent_form(), OrganizationPages(request, org)
    try:
        if form.text("do") == "remove":
            await pages.forge.send("DELETE", "repos", pages.api("exports", form.text("export")))
        else:
            await pages.forge.send("POST", "repos", pages.api("exports"))
    except ApiError as error:
        return await _export(pages, error)
    return pages.redirect("/export")


routes = [
    new, create, general, edit, members, remove_member, teams, change_teams, team, change_team, edit_team,
    save_team,
    labels, change_label, change_avatar, export, change_export,
]  # fmt: skip
