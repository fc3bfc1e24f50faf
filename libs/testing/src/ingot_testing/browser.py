"""A headless Chromium, driven over its DevTools protocol like a person drives a page."""

import asyncio
import itertools
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 40.0
POLL = 0.05


def chromium() -> str | None:
    """Return the path of the Chromium program, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """A browser tab."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._ids = socket, itertools.count(1)
        self.requests: list[str] = []
        """URLs of all files that the page loaded."""
        self.complaints: list[str] = []
        """Errors that the browser logged, such as violations of the page's policy."""

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the protocol and return its result. Events that arrive before it are recorded."""
        number = next(self._ids)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            message = json.loads((await self._socket.receive(PATIENCE)).data)
            if message.get("id") == number:
                result: dict[str, Any] = message.get("result", {})
                return result
            self._note(message)

    def _note(self, event: dict[str, Any]) -> None:
        if event["method"] == "Network.requestWillBeSent":
            self.requests.append(event["params"]["request"]["url"])
        elif event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            self.complaints.append(event["params"]["entry"]["text"])
        elif event["method"] == "Runtime.exceptionThrown":
            self.complaints.append(str(event["params"]["exceptionDetails"]))

    async def open(self, url: str) -> None:
        for domain in ("Page", "Network", "Log", "Runtime"):
            await self.call(f"{domain}.enable")
        await self.call("Page.navigate", url=url)

    async def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression on the page."""
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer.get("result", {}).get("value")

    async def wait_for(self, expression: str) -> Any:
        """Return the value of ``expression`` once it is truthy. Raises TimeoutError."""
        async with asyncio.timeout(PATIENCE):
            while not (value := await self.value(expression)):
                await asyncio.sleep(POLL)
        return value

    async def click(self, selector: str) -> None:
        await self.wait_for(f"!!document.querySelector({selector!r})")
        await self.value(f"document.querySelector({selector!r}).click()")

    async def type(self, selector: str, text: str) -> None:
        await self.wait_for(f"!!document.querySelector({selector!r})")
        await self.value(f"document.querySelector({selector!r}).focus()")
        await self.call("Input.insertText", text=text)
        await self.value("document.activeElement.blur()")  # pages read a field when it loses the focus


@asynccontextmanager
async def open_page(program: str, folder: Path) -> AsyncIterator[Page]:
    """Open a tab of a new browser, whose files are in ``folder``."""
    options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0")
    browser = await asyncio.create_subprocess_exec(
        program,
        *options,
        f"--user-data-dir={folder}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            while not (ports := folder / "DevToolsActivePort").exists() or not ports.read_text():
                await asyncio.sleep(POLL)
        root = f"http://127.0.0.1:{ports.read_text().splitlines()[0]}"
        async with aiohttp.ClientSession() as client:
            async with client.put(f"{root}/json/new?about:blank") as answer:
                address = (await answer.json(content_type=None))["webSocketDebuggerUrl"]
            async with client.ws_connect(address, max_msg_size=0) as socket:
                yield Page(socket)
    finally:
        browser.terminate()
        await browser.wait()
