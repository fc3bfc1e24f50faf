"""Providers as administrators add and change them on pages."""

import pytest

from ingot_chassis.errors import Invalid
from ingot_web.administration.rules.sources import read_groups, write_groups

from ..forge import MOMENT
from ..test_forms import SOURCE
from ..world import ROOT

PAGE = "/admin/auths/1"
GROUPS = {"developers": {"acme": ["coders", "testers"], "nest": ["all"]}, "CN=a=b,DC=x y": {"acme": ["x"]}}


def test_groups_are_lines_of_text_and_back():
    text = write_groups(GROUPS)
    assert text.splitlines()[0] == "developers = acme/coders acme/testers nest/all"
    assert read_groups(f"\r\n{text}\n\n") == GROUPS


@pytest.mark.parametrize(
    "line", ["developers", "= acme/coders", "developers =", "developers = acme", "a = /x"]
)
def test_a_line_that_maps_nothing_is_refused(line):
    with pytest.raises(Invalid, match="group_team_map"):
        read_groups(line)


async def test_a_saved_form_sends_what_it_shows(pages, forge):
    forge.answers[PAGE] = SOURCE
    shown = (await pages.get(PAGE, ROOT)).text
    assert "developers = crew/coders crew/testers" in shown
    assert SOURCE["redirect_uri"] in shown
    assert (await pages.submit(PAGE, "Save", to=PAGE, caller=ROOT)).status_code == 303
    body = forge.sent[-1][2]
    config = {name: value for name, value in SOURCE["config"].items() if name != "clock_skew"}
    assert body == {"title": "Corp", "enabled": True, "config": config}


async def test_a_token_of_scim_is_made_shown_once_and_deleted(pages, forge):
    row = {"id": 7, "name": "Entra", "token": "", "created_at": MOMENT, "last_used_at": None}
    forge.answers |= {PAGE: SOURCE, f"{PAGE}/scim_tokens": [row]}
    forge.changed = row | {"token": "scim_secret"}
    created = await pages.submit(PAGE, "Create token", to=PAGE, caller=ROOT, client="Okta")
    assert (created.status_code, "scim_secret" in created.text) == (200, True)
    assert forge.sent[-1] == ("POST", f"{PAGE}/scim_tokens", {"name": "Okta"})
    shown = (await pages.get(PAGE, ROOT)).text
    assert ("scim_secret" in shown, "Entra" in shown, SOURCE["scim_url"] in shown) == (False, True, True)
    assert (await pages.submit(PAGE, "Delete", to=PAGE, caller=ROOT)).status_code == 303
    assert forge.sent[-1][:2] == ("DELETE", f"{PAGE}/scim_tokens/7")


async def test_a_new_provider_is_added_and_shown(pages, forge):
    forge.answers |= {"/admin/auths": [], PAGE: SOURCE}
    forge.changed = SOURCE
    fields = {"name": "corp", "issuer": "https://id.example.org", "client_id": "ingot", "secret": "s"}
    done = await pages.submit("/admin/auths", "Add provider", to="/admin/auths", caller=ROOT, **fields)
    assert (done.status_code, done.headers["location"]) == (303, PAGE)
    method, path, body = forge.sent[-1]
    assert (method, path, body["name"], body["secret"]) == ("POST", "/admin/auths", "corp", "s")
    assert body["config"]["scopes"] == ["openid", "profile", "email"]


DIRECTORY = SOURCE | {
    "kind": "ldap",
    "config": {
        "kind": "ldap", "url": "ldaps://ldap.example.org", "authorities": "-----BEGIN CERTIFICATE-----\nAA==",
        "bind_dn": "cn=ingot,dc=x", "base_dn": "dc=x", "user_filter": "(uid={name})", "user_dn": "",
        "subject_attribute": "entryUUID", "login_attribute": "uid", "name_attribute": "cn",
        "email_attribute": "mail", "groups_attribute": "memberOf", "group_base_dn": "", "group_filter": "",
        "ssh_key_attribute": "sshPublicKey", "avatar_attribute": "jpegPhoto",
        "group_name_attribute": "cn", "required_groups": ["staff"], "trust_email": True,
        "first_sign_in": "create", "admin_groups": [], "restricted_groups": ["guests"],
        "group_team_map": {"staff": {"crew": ["all"]}},
    },
}  # fmt: skip


async def test_the_form_of_a_directory_sends_what_it_shows(pages, forge):
    forge.answers[PAGE] = DIRECTORY
    shown = (await pages.get(PAGE, ROOT)).text
    assert ("staff = crew/all" in shown, DIRECTORY["redirect_uri"] in shown, "SCIM" in shown) == (
        True, False, False,
    )  # fmt: skip
    assert (await pages.submit(PAGE, "Save", to=PAGE, caller=ROOT)).status_code == 303
    body = forge.sent[-1][2]
    body["config"]["authorities"] = body["config"]["authorities"].replace("\r", "")
    assert body == {"title": "Corp", "enabled": True, "config": DIRECTORY["config"]}


async def test_a_new_directory_is_added(pages, forge):
    forge.answers |= {"/admin/auths": [], PAGE: DIRECTORY}
    forge.changed = DIRECTORY
    fields = {"name": "corp", "url": "ldaps://ldap.example.org", "base_dn": "dc=x", "secret": "s"}
    page = "/admin/auths?kind=ldap"
    done = await pages.submit(page, "Add directory", to="/admin/auths", caller=ROOT, **fields)
    assert (done.status_code, done.headers["location"]) == (303, PAGE)
    method, path, body = forge.sent[-1]
    assert (method, path, body["secret"], body["config"]["kind"]) == ("POST", "/admin/auths", "s", "ldap")
    assert body["config"]["user_filter"] == "(&(objectClass=person)(uid={name}))"
