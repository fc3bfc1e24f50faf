"""Pictures of users, organizations and repositories that a form sends."""

from base64 import b64encode
from typing import Literal

from ingot_chassis.errors import Invalid
from ingot_web.clients.forge import Forge
from ingot_web.forms.rules.fields import Form


async def send_avatar(forge: Forge, service: Literal["identity", "repos"], path: str, form: Form) -> None:
    """Upload the picture in the form to the API at ``path``, or remove the current picture.

    Raises Invalid if the form requests neither.
    """
    if form.has("remove"):
        await forge.send("DELETE", service, path)
    elif not form.files:
        raise Invalid.field("files", "required", "choose a picture first")
    else:
        await forge.send("POST", service, path, {"image": b64encode(form.files[0].content).decode()})
