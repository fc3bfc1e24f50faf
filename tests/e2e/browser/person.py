"""A user with a browser, who finds links, buttons and fields only by their words on the page."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ingot_testing.browser import PATIENCE, Page, chromium, open_page

PROGRAM = chromium()
FIND = """(() => {
  const text = element => (element.ariaLabel || element.innerText).trim().replace(/\\s+/g, " ");
  const controls = [...document.querySelectorAll(%s)]
    .filter(one => one.checkVisibility() && document.readyState === "complete");
  const words = %s;
  window.control = controls.find(one => text(one) === words)
    || controls.find(one => text(one).startsWith(words));
  return !!window.control;
})()"""
"""The first of some elements that a person sees and whose words are those, or begin with them."""
CONTROLS = "main a[href], main button, main summary"
BAR = "header a[href], header summary, header button"
"""The same above every page."""
FIELDS = "label, main [aria-label]"
READ = "document.readyState === 'complete' && document.body.innerText.includes(%s)"


class Person:
    """``url`` is the site, with a slash at its end."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url

    async def visit(self, path: str = "") -> None:
        """Type an address."""
        await self.page.value("window.isOld = true")
        await self.page.open(self.url + path)
        await self._wait_for_another_page()

    async def sign_in(self, name: str, password: str) -> None:
        await self.visit("login")
        await self.write("User name", name)
        await self.write("Password", password)
        await self.follow("Sign in", within="main button")

    async def sign_out(self, name: str) -> None:
        await self.press(name, within=BAR)
        await self.follow("Sign out", within=BAR)

    async def press(self, words: str, *, within: str = CONTROLS) -> None:
        """Press what says that."""
        await self._wait_for(FIND % (json.dumps(within), json.dumps(words)), words)
        await self.page.value("window.control.click()")

    async def follow(self, *links: str, within: str = CONTROLS) -> None:
        """Press what says that, which leads to another page; and so on from there."""
        for words in links:
            await self.page.value("window.isOld = true")
            await self.press(words, within=within)
            await self._wait_for_another_page()

    async def write(self, label: str, text: str, *, within: str = FIELDS) -> None:
        """Write into the field with that label, in place of what is there."""
        await self.press(label, within=within)
        await self.page.value(
            "var field = window.control.control ?? window.control; field.focus(); field.select()"
        )
        await self.page.call("Input.insertText", text=text)

    async def choose(self, label: str, option: str) -> None:
        """Choose an option of the field with that label."""
        await self.press(label, within="label")
        choice = f"[...window.control.control.options].find(one => one.text === {json.dumps(option)})"
        assert await self.page.value(f"!!({choice} && ({choice}.selected = true))"), option

    async def attach(self, label: str, file: Path) -> None:
        """Choose a file for the field with that label."""
        await self.press(label, within="label")
        field = await self.page.call("Runtime.evaluate", expression="window.control.control")
        chosen = field["result"]["objectId"]
        await self.page.call("DOM.setFileInputFiles", files=[str(file)], objectId=chosen)

    async def look_until(self, words: str) -> None:
        """Load the page again until it says that: something goes on behind it."""
        path = (await self.page.value("location.href")).removeprefix(self.url)
        said = READ % json.dumps(words)
        async with asyncio.timeout(PATIENCE):
            while not await self.page.value(said):
                await self.visit(path)

    async def read(self, words: str) -> None:
        """Wait until the page says that."""
        await self._wait_for(READ % json.dumps(words), words)

    async def stays(self) -> bool:
        """Return True if the page is the one that ``mark`` saw, without another load."""
        return bool(await self.page.value("window.isOld === true"))

    async def mark(self) -> None:
        await self.page.value("window.isOld = true")

    async def _wait_for_another_page(self) -> None:
        await self._wait_for("!window.isOld && document.readyState === 'complete'", "anything new")

    async def _wait_for(self, expression: str, words: str) -> None:
        try:
            await self.page.wait_for(expression)
        except TimeoutError as error:
            text = await self.page.value("location.href + '\\n' + document.body.innerText")
            raise AssertionError(f"there is not {words!r} on {text}") from error


@asynccontextmanager
async def open_browser(url: str, folder: Path, *, javascript: bool = True) -> AsyncIterator[Person]:
    """Start a user with a browser of their own on the site."""
    async with open_page(str(PROGRAM), folder) as page:
        await page.call("Emulation.setScriptExecutionDisabled", value=not javascript)
        yield Person(page, url)
