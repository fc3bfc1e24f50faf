"""Routes for the administration of sources: other systems with which users sign in."""

from asyncio import gather
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Invalid
from ingot_chassis.http.policy import anyone
from ingot_web.administration.rules.sources import (
    CHOICES,
    GROUPS_FROM,
    NEW,
    NEW_DIRECTORY,
    fields_of,
    source_of,
)
from ingot_web.clients.forge import at
from ingot_web.forms.rules.fields import Form, require_typed
from ingot_web.pages.api.request import WebRequest

SHOWN = 50
SOURCES = "/admin/auths"


@get("/admin/auths", policy=anyone(), include_in_schema=False)
async def sources(request: WebRequest) -> Response[str]:
    """List the sources, with a form for a new provider, or with ``kind=ldap`` for a new directory."""
    request.require_signed_in()
    is_directory = request.query_params.get("kind") == "ldap"
    return await _list_page(request, Form([*(NEW_DIRECTORY if is_directory else NEW).items()]))


async def _list_page(request: WebRequest, form: Form, problem: ApiError | None = None) -> Response[str]:
    listing = await request.forge.listing("identity", SOURCES, page=request.number, limit=SHOWN)
    return request.render(
        "administration/sources.html",
        title="Sign-in with other systems",
        part="auths",
        error=problem,
        form=form,
        choices=CHOICES,
        groups_from=GROUPS_FROM,
        listing=listing,
        pages=request.pages_of(listing.total, SHOWN),
    )


@post("/admin/auths", policy=anyone(), include_in_schema=False)
async def add_source(request: WebRequest) -> Response[Any]:
    """Add a source."""
    form = await request.sent_form()
    try:
        body = {"name": form.text("name"), **source_of(form)}
        source = await request.forge.send("POST", "identity", SOURCES, body)
    except ApiError as error:
        return await _list_page(request, form, error)
    return request.redirect(f"/admin/auths/{source['id']}")


@get("/admin/auths/{source_id:int}", policy=anyone(), include_in_schema=False)
async def source(request: WebRequest, source_id: int) -> Response[str]:
    """Show one source: its configuration, and the forms to change it."""
    request.require_signed_in()
    return await _source_page(request, source_id, None)


async def _source_page(
    request: WebRequest,
    source_id: int,
    form: Form | None,
    problem: ApiError | None = None,
    *,
    secret: str = "",
) -> Response[str]:
    """Return the page of a source. ``secret`` is the secret of a new SCIM token, which is shown only once."""
    path = SOURCES + at(source_id)
    shown, tokens = await gather(
        request.forge.get("identity", path),
        request.forge.listing("identity", f"{path}/scim_tokens", page=1, limit=SHOWN),
    )
    return request.render(
        "administration/source.html",
        title=shown["title"],
        part="auths",
        error=problem,
        source=shown,
        form=form if form is not None and form["do"] == "save" else Form([*fields_of(shown).items()]),
        choices=CHOICES,
        groups_from=GROUPS_FROM,
        tokens=tokens.rows,
        secret=secret,
        typed=form["typed"] if form is not None else "",
    )


@post("/admin/auths/{source_id:int}", policy=anyone(), include_in_schema=False)
async def change_source(request: WebRequest, source_id: int) -> Response[Any]:
    """Change a source, or create or delete a SCIM token. Delete the source if the form repeats its name."""
    form = await request.sent_form()
    path = SOURCES + at(source_id)
    try:
        match form.text("do"):
            case "save":
                body = source_of(form)
                if form.has("no_secret"):
                    body["secret"] = ""
                await request.forge.send("PATCH", "identity", path, body)
            case "add_token":
                token = await request.forge.send(
                    "POST", "identity", f"{path}/scim_tokens", {"name": form.text("client")}
                )
                return await _source_page(request, source_id, None, secret=token["token"])
            case "remove_token":
                await request.forge.send("DELETE", "identity", f"{path}/scim_tokens" + at(form.text("id")))
            case "delete":
                name = (await request.forge.get("identity", path))["name"]
                require_typed(form.text("typed"), name)
                await request.forge.send("DELETE", "identity", path)
                return request.redirect("/admin/auths")
            case _:
                raise Invalid.field("do", "unknown", "is nothing that is done here")
    except ApiError as error:
        return await _source_page(request, source_id, form, error)
    return request.redirect_with_outcome(f"/admin/auths/{source_id}", "saved")


routes = [sources, add_source, source, change_source]
