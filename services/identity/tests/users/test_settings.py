"""The settings of a user, and an address that is hidden."""

import hashlib

import pytest

from ..world import PASSWORD

pytestmark = pytest.mark.both_databases


async def test_an_address_that_is_hidden_is_hidden_everywhere(world):
    user_id = await world.add_user("Ann")
    await world.add_user("bob")
    shown = (await world.call("GET", "/users/ann", as_="bob")).json()["avatar_url"]
    digest = hashlib.md5(b"ann@example.com", usedforsecurity=False).hexdigest()
    assert shown.endswith(digest)
    settings = await world.call("PATCH", "/user/settings", {"hide_email": True}, as_="Ann")
    assert settings.json()["hide_email"] is True
    for caller, path in (("bob", "/users/ann"), ("Ann", "/user"), ("bob", "/users/search?q=ann")):
        answer = await world.call("GET", path, as_=caller)
        assert "ann@noreply.localhost" in answer.text
        assert "example.com" not in answer.text.replace("ann@noreply", "")
        assert digest not in answer.text
    copied = await world.get_as_peer(f"/internal/accounts/{user_id}")
    assert copied.json()["email"] == "ann@noreply.localhost"
    assert digest not in copied.text
    assert (await world.emitted_types())[-1] == "identity.user.edited.v1"


async def test_settings_leave_what_is_absent(world):
    await world.add_user("ann")
    await world.call("PATCH", "/user/settings", {"website": "https://w.io", "location": "l"}, as_="ann")
    edited = (await world.call("PATCH", "/user/settings", {"description": "d"}, as_="ann")).json()
    assert (edited["website"], edited["location"], edited["description"]) == ("https://w.io", "l", "d")


async def test_what_programs_with_pages_need_is_kept(world):
    await world.add_user("ann")
    wishes = {"language": "pt-BR", "theme": "dark", "diff_view_style": "split", "hide_activity": True}
    await world.call("PATCH", "/user/settings", wishes, as_="ann")
    settings = (await world.call("GET", "/user/settings", as_="ann")).json()
    assert {name: settings[name] for name in wishes} == wishes
    assert (await world.call("GET", "/user", as_="ann")).json()["language"] == "pt-BR"


async def test_the_appearance_of_pages_comes_with_the_credential(world):
    await world.add_user("ann")
    settings = (await world.call("GET", "/user/settings", as_="ann")).json()
    assert (settings["density"], settings["tab_width"]) == ("comfortable", 4)
    assert await _appearance(world) == "system.comfortable.4"
    wishes = {"theme": "contrast", "density": "compact", "tab_width": 8}
    changed = (await world.call("PATCH", "/user/settings", wishes, as_="ann")).json()
    assert {name: changed[name] for name in wishes} == wishes
    assert await _appearance(world) == "contrast.compact.8"
    await world.call("PATCH", "/user/settings", {"theme": "x\r\ny.z.2"}, as_="ann")
    assert await _appearance(world) == "system.compact.8"


async def _appearance(world):
    """That which the gateway gets with the principal of ann."""
    return (await world.authenticate(name="ann", password=PASSWORD)).json()["appearance"]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"language": "english, please"}, 422, "language"),
        ({"language": "x" * 36}, 422, "language"),
        ({"full_name": "x" * 101}, 422, "full_name"),
        ({"location": "x" * 51}, 422, "location"),
        ({"hide_email": "no"}, 422, "hide_email"),
        ({"density": "tight"}, 422, "density"),
        ({"tab_width": 3}, 422, "tab_width"),
    ],
)
async def test_bad_settings_name_the_field(world, body, status, field):
    await world.add_user("ann")
    answer = await world.call("PATCH", "/user/settings", body, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, field)
