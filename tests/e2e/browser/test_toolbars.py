"""Tools, keys and lists in fields for Markdown."""

import pytest
from tests.e2e.deployments import ADMINISTRATOR

from .api import api_of
from .person import PROGRAM, Person, open_browser

KEYS = {"Enter": 13, "ArrowRight": 39, "End": 35, "Home": 36, "b": 66, "k": 75}
"""Virtual key codes."""
CONTROL = 2

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH"),
    pytest.mark.parametrize("deployment", ["standalone"], indirect=True),
]


async def type_key(person: Person, key: str, *, modifiers: int = 0) -> None:
    for kind in ("keyDown", "keyUp"):
        text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
        await person.page.call(
            "Input.dispatchKeyEvent",
            type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key], modifiers=modifiers, **text,
        )  # fmt: skip


async def text_of(person: Person) -> str:
    return str(await person.page.value("document.querySelector('#body').value"))


async def selection_of(person: Person) -> str:
    return str(
        await person.page.value(
            "(f => f.value.slice(f.selectionStart, f.selectionEnd))(document.querySelector('#body'))"
        )
    )


async def test_tools_write_markdown_that_can_be_undone(deployment, tmp_path):
    owner = ADMINISTRATOR[0]
    async with api_of(deployment.url) as http:
        for path, body in (
            ("user/repos", {"name": "mast"}),
            (f"repos/{owner}/mast/issues", {"title": "Tall"}),
        ):
            assert (await http.post(path, json=body)).status_code == 201
    async with open_browser(deployment.url, tmp_path) as person:
        await person.sign_in(*ADMINISTRATOR)
        await person.visit(f"{owner}/mast/issues/1")
        await person.write("Comment", "very tall")
        await person.page.value("document.querySelector('#body').setSelectionRange(0, 4)")
        await person.press("Bold")
        assert (await text_of(person), await selection_of(person)) == ("**very** tall", "very")
        await person.page.value("document.execCommand('undo')")
        assert await text_of(person) == "very tall"

        await person.page.value("document.querySelector('#body').setSelectionRange(0, 4)")
        await type_key(person, "b", modifiers=CONTROL)
        await type_key(person, "b", modifiers=CONTROL)
        assert await text_of(person) == "very tall"
        await type_key(person, "k", modifiers=CONTROL)
        assert (await text_of(person), await selection_of(person)) == ("[very](url) tall", "url")

        await person.write("Comment", "one\ntwo")
        await person.page.value("document.querySelector('#body').select()")
        await person.press("Numbered list")
        assert await text_of(person) == "1. one\n2. two"
        await person.press("Numbered list")
        await person.press("Task list")
        assert await text_of(person) == "- [ ] one\n- [ ] two"
        assert not person.page.complaints


async def test_enter_continues_a_list_and_ends_it(deployment, tmp_path):
    owner = ADMINISTRATOR[0]
    async with api_of(deployment.url) as http:
        assert (await http.post("user/repos", json={"name": "keel"})).status_code == 201
    async with open_browser(deployment.url, tmp_path) as person:
        await person.sign_in(*ADMINISTRATOR)
        await person.visit(f"{owner}/keel/issues/new")
        await person.page.wait_for("!!document.querySelector('.toolbar')")
        await person.page.value("document.querySelector('#body').focus()")
        for words in ("9. wood", "iron"):
            await person.page.call("Input.insertText", text=words)
            await type_key(person, "Enter")
        assert await text_of(person) == "9. wood\n10. iron\n11. "
        await type_key(person, "Enter")
        await person.page.call("Input.insertText", text="end")
        assert await text_of(person) == "9. wood\n10. iron\nend"

        await person.write("Description", "```yaml\n- one")
        await type_key(person, "Enter")
        assert await text_of(person) == "```yaml\n- one\n"
        await person.write("Description", "- one")
        await person.page.value("document.querySelector('#body').setSelectionRange(2, 2)")
        await type_key(person, "Enter")
        assert await text_of(person) == "- \none"
        assert not person.page.complaints


async def test_arrow_keys_move_between_tools(deployment, tmp_path):
    owner = ADMINISTRATOR[0]
    focused = "document.activeElement.ariaLabel"
    async with api_of(deployment.url) as http:
        assert (await http.post("user/repos", json={"name": "sail"})).status_code == 201
    async with open_browser(deployment.url, tmp_path) as person:
        await person.sign_in(*ADMINISTRATOR)
        await person.visit(f"{owner}/sail/issues/new")
        await person.page.wait_for("!!document.querySelector('.toolbar')")
        assert await person.page.value("document.querySelectorAll('.toolbar [tabindex=\"0\"]').length") == 1
        await person.page.value("document.querySelector('.toolbar button').focus()")
        focused_tools = []
        for key in ("ArrowRight", "End", "ArrowRight", "Home"):
            await type_key(person, key)
            focused_tools.append(await person.page.value(focused))
        assert focused_tools == ["Bold", "Reference", "Reference", "Heading"]
        assert not person.page.complaints
