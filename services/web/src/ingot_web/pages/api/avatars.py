"""Pictures of users, organizations and repositories that a form sends."""

from base64 import b64encode
from typing import Literal

from ingot_chassis.errors import Invalid
from ingot_web.clients.forge import Forge
from ingot_web.forms.rules.fields import Form


async def send_avatar(forge: Forge, service: Literal["identity", "repos"], path: str, form: Form) -> None:
    """Send the picture in the form to ``path`` of the API, or remove the current one.

    Raises Invalid if the form has neither.
    """
    if form.has("remove"):
        await forge.send("DELETE", service, path)
    elif not form.files:
        raise Invalid.field("files", "required", "choose a picture first")
    else:
        await forge.send("POST", service, path, {"image": b64encode(form.files[0].content).decode()})
