"""Keys of the caller, as they change them on the pages of their account."""

import time

from ..test_calls import GPG_KEY
from ..world import ANN


async def test_a_key_of_openpgp_is_added_with_its_lines_and_removed(pages, forge):
    forge.answers["/user/gpg_keys"] = [GPG_KEY | {"id": 4, "emails": []}]
    page = "/user/settings/gpg_keys"
    await pages.submit(page, "Add key", to=page, key="-----BEGIN\r\nabc")
    assert forge.sent == [("POST", "/user/gpg_keys", {"armored_public_key": "-----BEGIN\nabc"})]
    shown = (await pages.get(page, ANN)).text
    assert ("none of your addresses" in shown, "for ever" in shown) == (True, True)
    await pages.post(page, {"token": pages.form_token(ANN, at=time.time()), "remove": "4"}, ANN)
    assert forge.sent[1:] == [("DELETE", "/user/gpg_keys/4", {})]


async def test_a_read_only_key_is_added_and_shown_with_its_last_use(pages, forge):
    key = {"id": 4, "title": "backup", "fingerprint": "SHA256:x", "read_only": True, "last_used_at": None}
    used = key | {"id": 5, "title": "laptop", "read_only": False, "last_used_at": "2026-11-01T10:00:00Z"}
    forge.answers["/user/keys"] = [key, used]
    page = "/user/settings/keys"
    await pages.submit(page, "Add key", to=page, title="backup", key="ssh-ed25519 AAAA", read_only="1")
    sent = {"title": "backup", "key": "ssh-ed25519 AAAA", "read_only": True}
    assert forge.sent == [("POST", "/user/keys", sent)]
    shown = (await pages.get(page, ANN)).text
    assert (shown.count('class="badge">Read<'), "not used yet" in shown, "last used" in shown) == (
        1,
        True,
        True,
    )


async def test_a_key_of_a_directory_is_shown_with_it_and_is_not_removed_here(pages, forge):
    key = {"id": 4, "title": "corp", "fingerprint": "SHA256:x", "read_only": False, "last_used_at": None}
    forge.answers["/user/keys"] = [key | {"source": "Example Corp"}, key | {"id": 5, "source": ""}]
    shown = (await pages.get("/user/settings/keys", ANN)).text
    assert (shown.count("Example Corp"), shown.count("Remove it in the directory")) == (1, 1)
    assert ('value="4"' in shown, 'value="5"' in shown) == (False, True)
