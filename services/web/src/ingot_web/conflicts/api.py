"""Routes for the page that resolves conflicts of a pull request."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Conflict, Invalid, TooLarge
from ingot_chassis.http.policy import anyone
from ingot_contracts.repos.conflicts import ConflictedFile, Conflicts, Resolution
from ingot_web.conflicts.rules import choice_name, context, resolved_files, side_names, text_to_edit
from ingot_web.forms.rules.fields import Form
from ingot_web.issues.api.conversations import as_issue
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.reviews.api.checks import statuses_of

PATH = "/{owner:str}/{repo:str}/pulls/{index:int}/conflicts"
MOVED = Conflict("one of the branches has moved; these are the conflicts now")


@get(PATH, policy=anyone(), include_in_schema=False)
async def show(request: WebRequest, index: int) -> Response[str]:
    """Show the conflicts of a pull request, each with its versions to choose from."""
    request.require_signed_in()
    frame = RepositoryFrame(request)
    pull, statuses, conflicts = await _read(frame, index)
    return _page(frame, pull, statuses, conflicts, Form())


@post(PATH, policy=anyone(), include_in_schema=False)
async def resolve(request: WebRequest, index: int) -> Response[Any]:
    """Commit the merge with the chosen texts. The page shows errors, and keeps the choices."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    pull, statuses, conflicts = await _read(frame, index)
    if isinstance(conflicts, ApiError):
        return _page(frame, pull, statuses, conflicts, form)
    if (form.text("head_sha"), form.text("base_sha")) != (conflicts.head_sha, conflicts.base_sha):
        return _page(frame, pull, statuses, conflicts, Form(), MOVED)
    try:
        if not conflicts.files or conflicts.obstacle:
            raise Invalid("there are no conflicts that can be resolved here")
        files = resolved_files(conflicts.files, form, *side_names(pull))
        resolution = Resolution(head_sha=conflicts.head_sha, base_sha=conflicts.base_sha, files=files)
        await frame.forge.resolve_conflicts(frame.base, index, resolution)
    except ApiError as error:
        return _page(frame, pull, statuses, conflicts, form, error)
    return frame.redirect(f"/pulls/{index}#merge")


async def _read(frame: RepositoryFrame, index: int) -> tuple[Any, Any, Conflicts | ApiError]:
    """Return the pull request, its checks, and its conflicts or the reason why they cannot be shown."""
    pull, statuses, conflicts = await frame.load(
        frame.forge.get("issues", frame.api("pulls", index)),
        statuses_of(frame, index),
        _conflicts_of(frame, index),
    )
    return pull, statuses, conflicts


async def _conflicts_of(frame: RepositoryFrame, index: int) -> Conflicts | ApiError:
    try:
        return await frame.forge.conflicts(frame.base, index)
    except (Conflict, Invalid, TooLarge) as error:
        return error


def _page(
    frame: RepositoryFrame,
    pull: Any,
    statuses: Any,
    conflicts: Conflicts | ApiError,
    form: Form,
    problem: ApiError | None = None,
) -> Response[str]:
    if isinstance(conflicts, ApiError):
        problem, conflicts = conflicts, Conflicts(head_sha="", base_sha="", obstacle=conflicts.message)
    head, base = side_names(pull)
    return frame.render(
        "conflicts/page.html",
        tab="pulls",
        title=f"Conflicts of {pull['title']} #{pull['number']}",
        error=problem,
        page_name="conflicts",
        checks=statuses,
        pull=pull,
        issue=as_issue(pull),
        conflicts=conflicts,
        head_name=head,
        base_name=base,
        files=[_shown(file, number, form, head, base) for number, file in enumerate(conflicts.files)],
    )


def _shown(file: ConflictedFile, number: int, form: Form, head: str, base: str) -> dict[str, Any]:
    """Return the values of a file for the template."""
    edited = form.has(f"edited-{number}")
    return {
        "file": file,
        "parts": [
            {
                "part": part,
                "name": choice_name(number, position),
                "choice": form[choice_name(number, position)],
                "context": "" if part.is_conflict else context(file.parts, position),
            }
            for position, part in enumerate(file.parts)
        ],
        "number": number,
        "edited": edited,
        "text": form.lines(f"text-{number}") if edited else text_to_edit(file, head, base),
    }


routes = [show, resolve]
