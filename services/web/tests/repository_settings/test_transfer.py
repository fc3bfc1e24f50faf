"""A repository that is offered to a new owner, and the teams that reach it, as pages show them."""

import pytest

from ..forge import ANN_USER, HOME
from ..world import ANN, BOB

BOB_USER = ANN_USER | {"id": 2, "login": "bob"}


OFFER = {"doer": ANN_USER, "recipient": BOB_USER, "teams": []}


ANSWERED = {f"POST {HOME}/transfer/{act}": {"full_name": "bob/demo"} for act in ("accept", "reject")}


@pytest.mark.parametrize("status", [403, 404])
async def test_nothing_is_offered_where_the_service_says_so(pages, forge, status):
    forge.failures[f"{HOME}/transfer"] = status
    refused = await pages.get("/ann/demo/transfer", BOB)
    assert (refused.status_code, "Accept repository" in refused.text) == (404, False)
    assert (await pages.get("/ann/demo/transfer")).status_code == 401


async def test_a_private_repository_is_taken_over_or_refused_by_whom_it_is_offered_to(pages, forge):
    forge.failures[HOME] = 404
    forge.answers |= {f"{HOME}/transfer": OFFER} | ANSWERED
    for button, act, to in (("Accept repository", "accept", "/bob/demo"), ("Refuse", "reject", "/")):
        answer = await pages.submit("/ann/demo/transfer", button, to="/transfer", caller=BOB)
        assert answer.headers["location"] == to
        assert forge.sent[-1][:2] == ("POST", f"{HOME}/transfer/{act}")


@pytest.mark.parametrize("is_empty", [True, False])
async def test_the_repository_says_that_it_is_offered_and_leads_each_side_on(pages, forge, is_empty):
    forge.answers |= {f"{HOME}/contents-ext": {"dir_contents": []}, f"{HOME}/languages": {}}
    forge.answers[HOME] |= {"repo_transfer": OFFER, "empty": is_empty}
    shown = (await pages.get("/ann/demo", ANN)).text
    assert ('href="/ann/demo/settings/transfer"' in shown, 'href="/ann/demo/transfer"' in shown) == (
        True,
        False,
    )
    forge.answers[HOME]["permissions"] = {"admin": False, "push": False, "pull": True}
    shown = (await pages.get("/ann/demo", BOB)).text
    settings = (await pages.get("/ann/demo/settings/transfer", ANN)).text
    assert "the answer is given at <code>http://forge/ann/demo/transfer</code>" in settings
    assert ("offers this repository to you" in shown, 'href="/ann/demo/transfer"' in shown) == (True, True)
    forge.answers[HOME]["repo_transfer"] = None
    assert "/transfer" not in (await pages.get("/ann/demo", BOB)).text
    assert ">Type ann/demo to transfer it<" in (await pages.get("/ann/demo/settings/transfer", ANN)).text


async def test_who_offered_a_repository_takes_that_back(pages, forge):
    page = "/ann/demo/settings/transfer"
    shown = (await pages.get(page, ANN)).text
    assert ("Withdraw offer" in shown, "You keep no access unless" in shown) == (False, True)
    forge.answers[HOME]["repo_transfer"] = OFFER
    forge.answers |= ANSWERED
    assert "Transfer repository" not in (await pages.get(page, ANN)).text
    answer = await pages.submit(page, "Withdraw offer", to="/settings/transfer")
    assert (answer.headers["location"], forge.sent) == (page, [("POST", f"{HOME}/transfer/reject", {})])
