"""Routes for the administration of users and organizations."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Invalid, NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.clients.forge import at
from ingot_web.forms.rules.fields import Form, require_typed
from ingot_web.pages.api.request import WebRequest

SHOWN = 50


@get("/admin", policy=anyone(), include_in_schema=False)
async def administration(request: WebRequest) -> Response[bytes]:
    """Redirect to the first page of the administration."""
    return request.redirect("/admin/users")


@get("/admin/users", policy=anyone(), include_in_schema=False)
async def people(request: WebRequest) -> Response[str]:
    """List all accounts, or accounts whose name or address contains ``q``."""
    request.require_signed_in()
    return await _people_page(request, Form())


async def _people_page(request: WebRequest, form: Form, problem: ApiError | None = None) -> Response[str]:
    words = request.query_params.get("q", "").strip()
    filters: dict[str, Any] = {"q": words} if words else {}
    listing = await request.forge.listing(
        "identity", "/admin/users", page=request.number, limit=SHOWN, **filters
    )
    return request.render(
        "administration/people.html",
        title="People",
        part="users",
        error=problem,
        form=form,
        words=words,
        listing=listing,
        pages=request.pages_of(listing.total, SHOWN),
    )


@post("/admin/users", policy=anyone(), include_in_schema=False)
async def add_person(request: WebRequest) -> Response[Any]:
    """Create an account."""
    form = await request.sent_form()
    body: dict[str, Any] = {name: form.text(name) for name in ("username", "email", "full_name")}
    body |= {"password": form.get("password", ""), "restricted": form.has("restricted")}
    try:
        await request.forge.send("POST", "identity", "/admin/users", body)
    except ApiError as error:
        return await _people_page(request, form, error)
    return request.redirect(f"/admin/users{at(form.text('username'))}")


@get("/admin/users/{username:str}", policy=anyone(), include_in_schema=False)
async def person(request: WebRequest, username: str) -> Response[str]:
    """Show one account, with the forms to change it."""
    request.require_signed_in()
    return await _person_page(request, username, Form())


async def _person_page(
    request: WebRequest, username: str, form: Form, problem: ApiError | None = None
) -> Response[str]:
    await request.forge.get("identity", "/admin/users", limit=1)
    shown = await request.forge.get("identity", at("users", username))
    return request.render(
        "administration/person.html",
        title=shown["login"],
        part="users",
        error=problem,
        person=shown,
        form=form,
    )


@post("/admin/users/{username:str}", policy=anyone(), include_in_schema=False)
async def change_person(request: WebRequest, username: str) -> Response[Any]:
    """Change an account, or delete it if the form repeats its name."""
    form = await request.sent_form()
    path = at("admin", "users", username)
    try:
        match form.text("do"):
            case "save":
                body: dict[str, Any] = {
                    "full_name": form.text("full_name"),
                    "admin": form.has("admin"),
                    "prohibit_login": form.has("prohibit_login"),
                    "restricted": form.has("restricted"),
                }
                if form.text("email"):
                    body["email"] = form.text("email")
                if form["password"]:
                    body["password"] = form["password"]
                await request.forge.send("PATCH", "identity", path, body)
            case "rename":
                await request.forge.send(
                    "POST", "identity", f"{path}/rename", {"new_username": form.text("new_name")}
                )
                return request.redirect(f"/admin/users{at(form.text('new_name'))}")
            case "factor":
                await _remove_second_factor(request, path)
                return request.redirect_with_outcome(f"/admin/users{at(username)}", "factor removed")
            case "delete":
                require_typed(form.text("typed"), username)
                await request.forge.send("DELETE", "identity", path)
                return request.redirect("/admin/users")
            case _:
                raise Invalid.field("do", "unknown", "is nothing that is done here")
    except ApiError as error:
        return await _person_page(request, username, form, error)
    return request.redirect_with_outcome(f"/admin/users{at(username)}", "saved")


async def _remove_second_factor(request: WebRequest, path: str) -> None:
    try:
        await request.forge.send("DELETE", "identity", f"{path}/two_factor")
    except NotFound:
        raise NotFound("the account has no second factor") from None


@get("/admin/orgs", policy=anyone(), include_in_schema=False)
async def organizations(request: WebRequest) -> Response[str]:
    """List all organizations, including hidden ones."""
    request.require_signed_in()
    listing = await request.forge.listing("identity", "/admin/orgs", page=request.number, limit=SHOWN)
    return request.render(
        "administration/organizations.html",
        title="Organizations",
        part="orgs",
        problem="",
        listing=listing,
        pages=request.pages_of(listing.total, SHOWN),
    )


routes = [administration, people, add_person, person, change_person, organizations]
