"""Routes for SSH keys and OpenPGP keys of the caller."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.account_settings.api.profile import page
from ingot_web.clients.forge import at
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import WebRequest

SHOWN = 50


@get("/user/settings/keys", policy=anyone(), include_in_schema=False)
async def keys(request: WebRequest) -> Response[str]:
    """Show the SSH keys of the caller."""
    request.require_signed_in()
    return await _keys_page(request, Form())


async def _keys_page(request: WebRequest, form: Form, problem: ApiError | None = None) -> Response[str]:
    listing = await request.forge.listing("identity", "/user/keys", page=request.number, limit=SHOWN)
    pages = request.pages_of(listing.total, SHOWN)
    return page(request, "keys", "SSH keys", problem=problem, listing=listing, form=form, pages=pages)


@post("/user/settings/keys", policy=anyone(), include_in_schema=False)
async def change_keys(request: WebRequest) -> Response[Any]:
    """Add or remove an SSH key."""
    form = await request.sent_form()
    try:
        if form.has("remove"):
            await request.forge.send("DELETE", "identity", at("user", "keys", form.text("remove")))
        else:
            key = {
                "title": form.text("title"),
                "key": form.text("key"),
                "read_only": form.has("read_only"),
            }
            await request.forge.send("POST", "identity", "/user/keys", key)
    except ApiError as error:
        return await _keys_page(request, form, error)
    return request.redirect("/user/settings/keys")


@get("/user/settings/gpg_keys", policy=anyone(), include_in_schema=False)
async def gpg_keys(request: WebRequest) -> Response[str]:
    """Show the OpenPGP keys of the caller, which verify signatures of commits."""
    request.require_signed_in()
    return await _gpg_keys_page(request, Form())


async def _gpg_keys_page(request: WebRequest, form: Form, problem: ApiError | None = None) -> Response[str]:
    listing = await request.forge.listing("identity", "/user/gpg_keys", page=request.number, limit=SHOWN)
    pages = request.pages_of(listing.total, SHOWN)
    return page(request, "gpg_keys", "OpenPGP keys", problem=problem, listing=listing, form=form, pages=pages)


@post("/user/settings/gpg_keys", policy=anyone(), include_in_schema=False)
async def change_gpg_keys(request: WebRequest) -> Response[Any]:
    """Add or remove an OpenPGP key."""
    form = await request.sent_form()
    try:
        if form.has("remove"):
            await request.forge.send("DELETE", "identity", at("user", "gpg_keys", form.text("remove")))
        else:
            key = {"armored_public_key": form.lines("key")}
            await request.forge.send("POST", "identity", "/user/gpg_keys", key)
    except ApiError as error:
        return await _gpg_keys_page(request, form, error)
    return request.redirect("/user/settings/gpg_keys")


routes = [keys, change_keys, gpg_keys, change_gpg_keys]
