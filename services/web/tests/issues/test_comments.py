"""Comments as they are changed and removed on pages."""

import time

from ..forge import ANN_USER, HOME, MOMENT
from ..test_forms import COMMENT
from ..world import ANN, BOB
from .test_conversations import timeline

PAGE, PATH = "/ann/demo/comments/5", f"{HOME}/issues/comments/5"


async def test_a_comment_is_changed_and_removed(pages, forge):
    forge.answers[PATH] = COMMENT | {"body": "a\n<b>"}
    changed = await pages.submit(PAGE, "Save comment", to="/comments/5")
    assert changed.headers["location"] == "/ann/demo/issues/comments/5"
    loss = "The comment is deleted, with its reactions and files. This cannot be undone."
    assert loss in (await pages.get(PAGE, ANN)).text
    removed = await pages.submit(PAGE, "Delete comment", to="/comments/5/delete")
    assert removed.headers["location"] == "/ann/demo/issues/1"
    assert forge.sent == [("PATCH", PATH, {"body": "a\n<b>"}), ("DELETE", PATH, {})]


async def test_the_way_to_a_comment_leads_to_its_page_of_the_timeline(pages, forge):
    forge.answers |= {PATH: COMMENT, f"{HOME}/issues/1/timeline": timeline(51)}
    way = await pages.get("/ann/demo/issues/comments/5", ANN)
    assert way.headers["location"] == "/ann/demo/issues/1?page=2#issuecomment-5"
    assert forge.queries[f"{HOME}/issues/1/timeline"] == "limit=1&up_to=5"
    reaction = {"token": pages.form_token(ANN, at=time.time()), "comment": "5", "content": "heart"}
    reacted = await pages.post("/ann/demo/issues/1/reactions", reaction, ANN)
    assert reacted.headers["location"] == "/ann/demo/issues/comments/5"
    removed = await pages.submit(PAGE, "Delete comment", to="/comments/5/delete")
    assert removed.headers["location"] == "/ann/demo/issues/1?page=2"


async def test_who_may_change_a_comment_finds_the_way_to_its_form(pages, forge):
    said = {
        "id": 5, "type": "comment", "review_id": 0, "user": ANN_USER | {"login": "bob"}, "body": "x",
        "created_at": MOMENT, "ref_commit_sha": "", "ref_issue": None,
    }  # fmt: skip
    forge.answers[f"{HOME}/issues/1/timeline"] = [said, said | {"id": 6, "user": ANN_USER}]
    permissions = forge.answers[HOME]["permissions"]

    async def ways(caller):
        text = (await pages.get("/ann/demo/issues/1", caller)).text
        return [number for number in (5, 6) if f'href="/ann/demo/comments/{number}"' in text]

    assert await ways(ANN) == [5, 6]
    permissions["admin"] = False
    assert (await ways(ANN), await ways(BOB), await ways(None)) == ([6], [5], [])


async def test_a_comment_that_is_not_there_has_no_form(pages, forge):
    forge.failures[PATH] = 404
    assert (await pages.get(PAGE, ANN)).status_code == 404
    assert (await pages.get("/ann/demo/issues/comments/5", ANN)).status_code == 404
