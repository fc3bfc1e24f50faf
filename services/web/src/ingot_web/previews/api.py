"""Previews of texts before they are sent: the rendered text, and the form with its fields."""

from litestar import Response

from ingot_chassis.errors import ApiError
from ingot_web.forms.rules.fields import Form
from ingot_web.repositories.api.frames import RepositoryFrame

OWN = ("token", "preview", "title", "into", "body", "do")
"""Fields that the page sets itself. Other fields are passed on unchanged."""


async def preview(
    frame: RepositoryFrame,
    form: Form,
    *buttons: str,
    problem: ApiError | None = None,
    look_at: str = "",
) -> Response[str]:
    """Return the page of a form with a preview of its field ``body``. ``problem`` is the form's error.

    The form keeps its URL. ``buttons`` send it: each is a label, optionally followed by a bar and the value
    of ``do``. ``look_at`` is the path of a page to read first.
    """
    await frame.load()
    (html,) = await frame.forge.render([form.lines("body")], context=frame.repository["full_name"])
    return frame.render(
        "previews/page.html",
        in_place="" if problem else "previews/text.html",
        tab="pulls" if "/pulls/" in frame.request.scope["path"] else "issues",
        title="Not sent" if problem else "Preview",
        error=problem,
        form=form,
        html=html,
        rest=[(name, value) for name, value in form.pairs if name not in OWN],
        look_at=look_at,
        buttons=[button.partition("|")[::2] for button in buttons],
    )
