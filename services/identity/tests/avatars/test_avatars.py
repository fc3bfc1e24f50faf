"""Pictures of accounts: uploaded ones, and drawn ones."""

import base64
import hashlib

import pytest

from ingot_contracts.identity.events import OrganizationEdited, UserEdited

from ..matrix import GIF

CONTENTS = {
    "image/png": b"\x89PNG\r\n\x1a\n rest",
    "image/jpeg": b"\xff\xd8\xff\xe0 rest",
    "image/gif": base64.b64decode(GIF),
    "image/webp": b"RIFF\x0a\x00\x00\x00WEBPVP8 ",
}
ROOT = "http://127.0.0.1:3000"


def encoded(content):
    return base64.b64encode(content).decode()


async def shown(world, name="ann"):
    return (await world.call("GET", f"/users/{name}")).json()["avatar_url"]


@pytest.mark.parametrize("prefix", ["", "data:image/png;base64,", " \n"])
@pytest.mark.parametrize("media_type", CONTENTS)
async def test_an_uploaded_picture_is_served_as_what_it_is(world, media_type, prefix):
    await world.add_user("ann")
    drawn, content = await shown(world), CONTENTS[media_type]
    answer = await world.call("POST", "/user/avatar", {"image": prefix + encoded(content)}, as_="ann")
    assert (answer.status_code, answer.content) == (204, b"")
    url = await shown(world)
    assert url == f"{ROOT}/avatars/{hashlib.sha256(content).hexdigest()}"
    assert (await world.emitted(UserEdited))[-1].account.avatar_url == url
    picture = await world.http.get(url.removeprefix(ROOT))
    assert (picture.content, picture.headers["content-type"]) == (content, media_type)
    assert picture.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in picture.headers["content-security-policy"]
    again = await world.http.get(url.removeprefix(ROOT), headers={"if-none-match": picture.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert (await world.call("DELETE", "/user/avatar", as_="ann")).status_code == 204
    assert await shown(world) == drawn
    deleted = await world.http.get(url.removeprefix(ROOT), headers={"if-none-match": picture.headers["etag"]})
    assert (deleted.status_code, deleted.headers["content-type"]) == (200, "image/svg+xml")


async def test_organizations_have_pictures_too(world, acme):
    assert (await world.call("POST", "/orgs/acme/avatar", {"image": GIF}, as_="ann")).status_code == 204
    url = (await world.call("GET", "/orgs/acme")).json()["avatar_url"]
    assert url.endswith(hashlib.sha256(CONTENTS["image/gif"]).hexdigest())
    assert (await world.emitted(OrganizationEdited))[-1].account.avatar_url == url
    assert (await world.call("DELETE", "/orgs/acme/avatar", as_="ann")).status_code == 204
    assert (await world.call("GET", "/orgs/acme")).json()["avatar_url"] != url


async def test_a_picture_stays_while_another_account_has_it(world):
    for name in ("ann", "bob"):
        await world.add_user(name)
        await world.call("POST", "/user/avatar", {"image": GIF}, as_=name)
    assert (await world.call("DELETE", "/admin/users/ann", as_="root")).status_code == 204
    picture = await world.http.get((await shown(world, "bob")).removeprefix(ROOT))
    assert picture.headers["content-type"] == "image/gif"


NO_PICTURES = [
    ("", 422, "required"),
    ("   ", 422, "required"),
    ("no base64!", 422, "format"),
    ("data:text/html;base64,PGI+", 422, "format"),
    (encoded(b"<svg xmlns='http://www.w3.org/2000/svg'/>"), 422, "type"),
    (encoded(b"<html>GIF89a"), 422, "type"),
    (encoded(b"BM rest"), 422, "type"),
    (encoded(b"GIF89a" + bytes(1_048_576)), 422, "length"),
    ("x" * 7_000_000, 422, "invalid"),
    ("\u00fc" * 8, 422, "format"),
    ([GIF], 422, "type"),
]


async def test_what_is_no_small_picture_is_refused(world):
    await world.add_user("ann")
    before = await shown(world)
    for image, status, code in NO_PICTURES:
        answer = await world.call("POST", "/user/avatar", {"image": image}, as_="ann")
        error = answer.json()["errors"][0]
        expected = status, "image", code
        assert (answer.status_code, error["field"], error["code"]) == expected, image[:80]
    assert await shown(world) == before


@pytest.mark.parametrize("digest", ["x" * 65, "a.b", "..%2f..", "%00"])
async def test_what_is_no_digest_has_no_picture(world, digest):
    assert (await world.http.get(f"/avatars/{digest}")).status_code == 404
