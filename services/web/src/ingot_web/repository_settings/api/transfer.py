"""Routes for the transfer of a repository to another owner: offer, withdrawal and answer."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.clients.forge import at
from ingot_web.forms.rules.fields import Form, require_typed
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.repository_settings.api.general import SHARED, load_own, render_part


@get(f"{SHARED}/transfer", policy=anyone(), include_in_schema=False)
async def transfer(request: WebRequest) -> Response[str]:
    """Show the form to transfer the repository to another owner."""
    request.require_signed_in()
    return await _transfer_page(RepositoryFrame(request), Form())


async def _transfer_page(
    frame: RepositoryFrame, form: Form, problem: ApiError | None = None
) -> Response[str]:
    await load_own(frame)
    return render_part(frame, "transfer", "Transfer", problem, form=form)


@post(f"{SHARED}/transfer", policy=anyone(), include_in_schema=False)
async def begin_transfer(request: WebRequest) -> Response[Any]:
    """Transfer the repository if the form repeats its name, or withdraw the offer.

    If the caller does not own the target account, an owner of that account must accept the transfer.
    """
    form, frame = await request.sent_form(), RepositoryFrame(request)
    await load_own(frame)
    try:
        if form.text("do") == "cancel":
            await frame.forge.send("POST", "repos", frame.api("transfer", "reject"))
            return frame.redirect("/settings/transfer")
        require_typed(form.text("name"), frame.repository["full_name"])
        body = {"new_owner": form.text("new_owner")}
        moved = await frame.forge.send("POST", "repos", frame.api("transfer"), body)
    except ApiError as error:
        return await _transfer_page(frame, form, error)
    return request.redirect(f"/{moved['full_name']}")


@get("/{owner:str}/{repo:str}/transfer", policy=anyone(), include_in_schema=False)
async def offer(request: WebRequest, owner: str, repo: str) -> Response[str]:
    """Show the form to accept or reject the transfer of a repository, for callers who may accept it.

    Raises NotFound for other callers.
    """
    request.require_signed_in()
    waiting = await request.forge.get_if_there("repos", at("repos", owner, repo, "transfer"))
    if waiting is None:
        raise NotFound
    return request.render(
        "repository_settings/offer.html",
        title="Take over a repository",
        full_name=f"{owner}/{repo}",
        waiting=waiting,
    )


@post("/{owner:str}/{repo:str}/transfer", policy=anyone(), include_in_schema=False)
async def answer(request: WebRequest, owner: str, repo: str) -> Response[bytes]:
    """Accept or reject the transfer of the repository."""
    form = await request.sent_form()
    act = "accept" if form.text("do") == "accept" else "reject"
    taken = await request.forge.send("POST", "repos", at("repos", owner, repo, "transfer", act))
    return request.redirect(f"/{taken['full_name']}" if act == "accept" else "/")


routes = [transfer, begin_transfer, offer, answer]
