"""The page on which conflicts of a pull request are resolved."""

import pytest

from ingot_contracts.repos.conflicts import ConflictedFile, ConflictPart, Conflicts
from ingot_contracts.repos.merges import UpdatedBranch
from ingot_contracts.testing.forms import form_of
from ingot_web.conflicts.rules import context

from ..forge import HOME, pull, repository
from ..world import ANN

PAGE = "/ann/demo/pulls/1/conflicts"
PATH = f"/internal{HOME}/pulls/1/conflicts"
FORK = repository(id=2, owner={"id": 2, "login": "bob"}, full_name="bob/demo")
HEAD, BASE = "1" * 40, "0" * 40
NUMBERS = "".join(f"{number}\n" for number in range(9))
TEXT = ConflictedFile(
    path="src/<a>.py",
    parts=[
        ConflictPart(text=NUMBERS),
        ConflictPart(is_conflict=True, base="was\n", ours="<ours>\n", theirs="theirs\n"),
        ConflictPart(text="between\n"),
        ConflictPart(is_conflict=True, ours="left\n", theirs=""),
    ],
)
DELETED = ConflictedFile(path="old.txt", deleted="theirs", parts=[ConflictPart(text="kept\n")])
CHOICES = {"choice-0-1": "both", "choice-0-3": "theirs", "choice-1-0": "delete"}


def conflicts(*files, base=BASE, **more):
    return Conflicts(head_sha=HEAD, base_sha=base, files=list(files), **more)


@pytest.fixture
def forge(forge):
    conflict = {"reason": "the branches conflict", "kind": "conflict", "overridable": False}
    forge.answers[f"{HOME}/pulls/1"] = pull(mergeable=False, merge_refusals=[conflict])
    forge.internal |= {f"GET {PATH}": conflicts(TEXT, DELETED), f"POST {PATH}": UpdatedBranch(sha="2" * 40)}
    return forge


def sent_texts(forge):
    [body] = forge.bodies
    assert (body["head_sha"], body["base_sha"]) == (HEAD, BASE)
    return {one["path"]: one["text"] for one in body["files"]}


async def test_a_conflict_is_shown_with_its_versions_and_the_lines_next_to_it(pages):
    shown = (await pages.get(PAGE, ANN)).text
    for text in ("6\n7\n8\n", "&lt;ours&gt;\n", "was\n", "theirs\n", "between\n", "kept\n"):
        assert f"<code>{text}</code>" in shown
    assert "<code>0\n" not in shown
    assert ("src/&lt;a&gt;.py" in shown, "main deleted the file, topic changed it" in shown) == (True, True)


async def test_branches_of_the_same_name_have_their_owners_in_front(pages, forge):
    fork = {"label": "main", "ref": "main", "sha": HEAD, "repo_id": 2, "repo": FORK}
    forge.answers[f"{HOME}/pulls/1"] = pull(mergeable=False, head=fork)
    shown = (await pages.get(PAGE, ANN)).text
    for words in ("Use bob:main", "Use ann:main", "Use both, bob:main first", "ann:main deleted the file"):
        assert words in shown
    assert "&lt;&lt;&lt;&lt;&lt;&lt;&lt; bob:main" in shown


async def test_chosen_versions_are_sent_as_texts_with_the_commits_of_the_page(pages, forge):
    done = await pages.submit(PAGE, "Commit merge", to=PAGE, **CHOICES)
    assert (done.status_code, done.headers["location"]) == (303, "/ann/demo/pulls/1#merge")
    assert sent_texts(forge) == {
        "src/<a>.py": f"{NUMBERS}<ours>\ntheirs\nbetween\n",
        "old.txt": None,
    }


async def test_an_edited_text_replaces_the_choices(pages, forge):
    edited = {"edited-0": "1", "text-0": "mine\r\n", "edited-1": "1", "text-1": "new\r\n"}
    await pages.submit(PAGE, "Commit merge", to=PAGE, **CHOICES | edited)
    assert sent_texts(forge) == {"src/<a>.py": "mine\n", "old.txt": "new\n"}


async def test_the_text_to_edit_has_conflict_markers_which_must_go(pages, forge):
    form = form_of((await pages.get(PAGE, ANN)).text, PAGE, "Commit merge")
    [text] = form.values["text-0"]
    markers = "<<<<<<< topic\n<ours>\n=======\ntheirs\n>>>>>>> main\nbetween\n"
    assert markers in text.replace("\r\n", "\n")
    refused = await pages.submit(PAGE, "Commit merge", to=PAGE, **CHOICES | {"edited-0": "1"})
    assert refused.status_code == 422
    assert "the text of src/&lt;a&gt;.py still has conflict markers" in refused.text
    assert not forge.bodies


async def test_a_file_with_line_ends_of_windows_keeps_them(pages, forge):
    part = ConflictPart(is_conflict=True, ours="a\r\n", theirs="b\r\n")
    forge.internal[f"GET {PATH}"] = conflicts(ConflictedFile(path="f", parts=[part]))
    await pages.submit(PAGE, "Commit merge", to=PAGE, **{"edited-0": "1", "text-0": "c\r\nd\r\n"})
    assert sent_texts(forge) == {"f": "c\r\nd\r\n"}


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"choice-0-1": "ours"}, "choose a version for conflict 2 of src/&lt;a&gt;.py, or edit its text"),
        ({"choice-0-1": "x", "choice-0-3": "ours"}, "choose a version for conflict 1 of"),
        ({"choice-0-1": "ours", "choice-0-3": "ours"}, "choose whether to keep or to delete old.txt"),
    ],
)
async def test_a_missing_choice_is_named_and_the_others_stay(pages, forge, choices, words):
    refused = await pages.submit(PAGE, "Commit merge", to=PAGE, **choices)
    assert (refused.status_code, words in refused.text) == (422, True)
    assert not forge.bodies
    values = form_of(refused.text, PAGE, "Commit merge").values
    choices_left = {name: [choice] for name, choice in choices.items() if choice != "x"}
    assert {name: values[name] for name in choices_left} == choices_left


async def test_branches_that_moved_since_the_page_show_the_conflicts_as_they_are_now(pages, forge):
    page = (await pages.get(PAGE, ANN)).text
    forge.internal[f"GET {PATH}"] = conflicts(TEXT, DELETED, base="9" * 40)
    refused = await pages.submit(page, "Commit merge", to=PAGE, **CHOICES)
    assert (refused.status_code, "one of the branches has moved" in refused.text) == (409, True)
    values = form_of(refused.text, PAGE, "Commit merge").values
    assert (values["base_sha"], values.get("choice-0-1", [])) == (["9" * 40], [])
    assert not forge.bodies


async def test_what_needs_a_clone_is_said_with_the_commands(pages, forge):
    obstacle = ConflictedFile(path="p.png", obstacle="it is not UTF-8 text")
    forge.internal[f"GET {PATH}"] = conflicts(obstacle, obstacle="p.png: it is not UTF-8 text")
    shown = (await pages.get(PAGE, ANN)).text
    assert "These conflicts need a clone: p.png: it is not UTF-8 text." in shown
    assert ("git pull --no-rebase" in shown, "Commit merge" in shown) == (True, False)


async def test_a_merge_without_conflicts_has_nothing_to_resolve(pages, forge):
    forge.internal[f"GET {PATH}"] = conflicts()
    assert "without conflicts" in (await pages.get(PAGE, ANN)).text


async def test_nobody_is_asked_to_sign_in_and_an_older_release_has_no_page(pages, forge):
    assert (await pages.get(PAGE)).status_code == 401
    forge.internal.clear()
    assert (await pages.get(PAGE, ANN)).status_code == 404


async def test_the_pull_request_leads_to_its_conflicts(pages, forge):
    way = 'href="/ann/demo/pulls/1/conflicts">Resolve conflicts</a>'
    assert way in (await pages.get("/ann/demo/pulls/1", ANN)).text
    assert way not in (await pages.get("/ann/demo/pulls/1")).text
    forge.answers[HOME] = repository(allow_merge_update=False)
    assert way not in (await pages.get("/ann/demo/pulls/1", ANN)).text
    forge.answers[HOME] = repository()
    forge.answers[f"{HOME}/pulls/1"] = pull(mergeable=True, merge_refusals=[])
    assert way not in (await pages.get("/ann/demo/pulls/1", ANN)).text


@pytest.mark.parametrize(
    ("texts", "position", "shown"),
    [
        ((NUMBERS, ""), 0, "6\n7\n8\n"),
        (("", NUMBERS), 1, "0\n1\n2\n"),
        (("", NUMBERS, ""), 1, "0\n1\n2\n⋯\n6\n7\n8\n"),
        (("", "1\n2\n", ""), 1, "1\n2\n"),
    ],
)
def test_lines_next_to_a_conflict_are_shown(texts, position, shown):
    parts = [ConflictPart(text=text, is_conflict=not text) for text in texts]
    assert context(parts, position) == shown
