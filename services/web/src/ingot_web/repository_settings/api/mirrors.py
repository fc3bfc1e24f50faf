"""Routes for mirrors: the remote of a mirror, and the remotes to which a repository is pushed."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.repository_settings.api.general import SHARED, load_own, render_part

SHOWN = 50


@get(f"{SHARED}/mirrors", policy=anyone(), include_in_schema=False)
async def mirrors(request: WebRequest) -> Response[str]:
    """Show the remote that the repository mirrors, and the remotes to which it is pushed."""
    request.require_signed_in()
    return await _mirrors_page(RepositoryFrame(request), Form())


async def _mirrors_page(frame: RepositoryFrame, form: Form, problem: ApiError | None = None) -> Response[str]:
    number = frame.request.number
    listing, migration = await load_own(
        frame,
        frame.forge.listing_if_there("repos", frame.api("push_mirrors"), page=number, limit=SHOWN),
        frame.forge.get_if_there("repos", frame.api("migration")),
    )
    fault = migration["error"] if migration else ""
    values = {"listing": listing, "pages": frame.request.pages_of(listing.total, SHOWN)}
    return render_part(frame, "mirrors", "Mirrors", problem, fault=fault, form=form, **values)


@post(f"{SHARED}/mirrors", policy=anyone(), include_in_schema=False)
async def change_mirrors(request: WebRequest) -> Response[Any]:
    """Add or remove a mirror, set its interval, or sync mirrors now."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    try:
        match form.text("do"):
            case "fetch":
                await frame.forge.send("POST", "repos", frame.api("mirror-sync"))
            case "push":
                await frame.forge.send("POST", "repos", frame.api("push_mirrors-sync"))
            case "remove":
                await frame.forge.send("DELETE", "repos", frame.api("push_mirrors", form.text("name")))
            case "save":
                await frame.forge.send("PATCH", "repos", frame.api(), _mirror_of(form))
                return request.redirect_with_outcome(f"{frame.base}/settings/mirrors", "saved")
            case _:
                body = {
                    "remote_address": form.text("remote"),
                    "remote_username": form.text("user"),
                    "remote_password": form["password"],
                    "interval": form.text("interval"),
                    "sync_on_commit": form.has("on_commit"),
                }
                await frame.forge.send("POST", "repos", frame.api("push_mirrors"), body)
    except ApiError as error:
        return await _mirrors_page(frame, form, error)
    return frame.redirect("/settings/mirrors")


def _mirror_of(form: Form) -> dict[str, Any]:
    """Return the interval of fetches, and new credentials if the form has them."""
    credentials = {"mirror_username": form.text("mirror_user"), "mirror_password": form["mirror_password"]}
    return {
        "mirror_interval": form.text("mirror_interval"),
        **{name: text for name, text in credentials.items() if text},
    }


routes = [mirrors, change_mirrors]
