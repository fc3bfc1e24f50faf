"""Pictures of people and organizations, as they change them on pages."""

import time

from ..forge import ANN_USER
from ..world import ANN


async def test_pictures_of_people_and_organizations_are_sent_and_removed(pages, forge):
    settings = dict.fromkeys(("full_name", "description", "location", "website"), "")
    forge.answers |= {
        "/user/settings": settings | {"hide_email": False},
        "/user": ANN_USER,
        "/orgs/crew": settings | {"username": "crew", "avatar_url": "", "visibility": "public"},
    }
    for page, to in (("/user/settings", "/user/avatar"), ("/org/crew/settings", "/orgs/crew/avatar")):
        headers = pages.callers.headers(ANN)
        form = {"token": pages.form_token(ANN, at=time.time())}
        file = {"files": ("a.png", b"png")}
        sent = await pages.client.post(f"{page}/avatar", data=form, files=file, headers=headers)
        assert sent.headers["location"].startswith(f"{page}?outcome=saved&proof=")
        await pages.submit(page, "Remove picture", to="/avatar")
        assert forge.sent[-2:] == [("POST", to, {"image": "cG5n"}), ("DELETE", to, {})]
        refused = await pages.submit(page, "Upload picture", to="/avatar")
        assert (refused.status_code, "choose a picture" in refused.text) == (422, True)
