"""Pictures of repositories."""

import base64
import hashlib

PNG = b"\x89PNG\r\n\x1a\n rest"
IMAGE = {"image": base64.b64encode(PNG).decode()}
AVATAR = "/api/v1/repos/ann/app/avatar"


async def url_of(person):
    return (await person.get("/repos/ann/app")).json()["avatar_url"]


async def test_a_picture_is_shown_served_and_removed(world, ann):
    await ann.create("app")
    assert await url_of(ann) == ""
    answer = await ann.call("POST", AVATAR, IMAGE)
    assert (answer.status_code, answer.content) == (204, b"")
    url = await url_of(ann)
    assert url.endswith(f"/{hashlib.sha256(PNG).hexdigest()}")
    (*_, event) = await world.events("repository.edited")
    assert event["repository"]["avatar_url"] == url
    path = "/" + url.split("/", 3)[3]
    picture = await ann.call("GET", path)
    assert (picture.content, picture.headers["content-type"]) == (PNG, "image/png")
    assert "sandbox" in picture.headers["content-security-policy"]
    assert (await ann.call("DELETE", AVATAR)).status_code == 204
    assert await url_of(ann) == ""
    assert (await ann.call("GET", path)).status_code == 404


async def test_only_readers_of_the_repository_get_its_picture(world, ann, bob):
    await ann.create("app")
    await ann.call("POST", AVATAR, IMAGE)
    path = "/" + (await url_of(ann)).split("/", 3)[3]
    stranger = world.user(0, "")
    assert (await stranger.call("GET", path)).status_code == 200
    assert (await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})).status_code == 200
    for person, status in ((stranger, 404), (bob, 404), (ann, 200)):
        assert (await person.call("GET", path)).status_code == status


async def test_only_administrators_of_the_repository_change_its_picture(world, ann, bob):
    await ann.create("app")
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    for person, status in ((world.user(0, ""), 401), (bob, 403)):
        assert (await person.call("POST", AVATAR, IMAGE)).status_code == status
        assert (await person.call("DELETE", AVATAR)).status_code == status
    assert await url_of(ann) == ""


async def test_only_small_pictures_are_accepted(ann):
    await ann.create("app")
    for content in (b"", b"<svg/>", PNG + bytes(1_048_576)):
        answer = await ann.call("POST", AVATAR, {"image": base64.b64encode(content).decode()})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "image")
