"""Take the pictures of docs/explanation/pages.md: `python tools/screenshots.py [name …]`, else all.

It starts an `ingot up` of its own on a free port, and fills it through the API. It opens pages with the
machine's Chromium. It exits with code 2 if there is no Chromium. It exits with code 1 if a page had a
browser error or a picture is too large.
"""

import asyncio
import base64
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.e2e.browser.person import PROGRAM, Person, open_browser  # noqa: E402
from tests.e2e.deployments import ADMINISTRATOR, Standalone, running  # noqa: E402

PICTURES = ROOT / "docs/explanation/screenshots"
MOST_BYTES = 120_000
PATIENCE = 60.0
PASSWORD = "the tide comes in"
BASE, CODE = "harbour/tides", "src/tides/forecast.py"
README = (
    "# Tides\n\n"
    "When is high water, and how high does it rise? *Tides* answers for 40 harbours, without a network.\n\n"
    "```python\n"
    "from tides import forecast\n\n"
    'for water in forecast("north-quay", days=2):\n'
    "    print(water.time, water.height)\n"
    "```\n\n"
    "| harbour | heights since | mean range |\n"
    "|---|---|---|\n"
    "| North Quay | 1998 | 3.1 m |\n"
    "| Old Lock | 2004 | 2.7 m |\n\n"
    "[How to use it](docs/usage.md) says more.\n"
)
HARMONICS = (
    '"""The parts of which a tide is the sum."""\n\nPERIODS = {"M2": 12.4206, "S2": 12.0, "N2": 12.6583}\n'
)
HEIGHT = '''"""High and low waters of a harbour."""

from math import cos, tau

from .harmonics import PERIODS


def height(parts, hours):
    """Metres above the chart's zero, `hours` after midnight."""
    return sum(size * cos(tau * hours / PERIODS[name]) for name, size in parts)
'''
HIGH_WATERS = (
    "\n\ndef high_waters(parts, days=1):\n"
    '    """The hours at which the water stops rising."""\n'
    "    steps = [number / 4 for number in range(days * 96)]\n"
    "    heights = [height(parts, hours) for hours in steps]\n"
    "    inner = range(1, len(steps) - 1)\n"
    "    tops = [top for top in inner if heights[top] == max(heights[top - 1 : top + 2])]\n"
    "    return [steps[top] for top in tops]\n"
)
EXACT = HIGH_WATERS.replace("/ 4", "/ 10").replace("* 96", "* 240")
NAMED = HIGH_WATERS.replace("/ 4", "/ STEPS").replace("* 96", "* 24 * STEPS")
RANGE = "\n\ndef mean_range(heights):\n    return max(heights) - min(heights)\n"
LOW_WATERS = (
    "\n\ndef low_waters(parts, days=1):\n"
    '    """The hours at which the water stops falling."""\n'
    "    upside_down = [(name, -size) for name, size in parts]\n"
    "    return high_waters(upside_down, days)\n"
)
USAGE = "# Usage\n\n`forecast(harbour, days)` gives each high water with its time and height.\n"
TEST = (
    "from tides.forecast import high_waters\n\n\n"
    "def test_one_in_half_a_day():\n"
    "    assert len(high_waters([('M2', 1.5)])) == 1\n"
)
COMMITS = (
    (40, "ann", "Forecast heights from three parts", "",
     {"README.md": README.partition("| harb")[0], "src/tides/harmonics.py": HARMONICS, CODE: HEIGHT}),
    (31, "kim", "Find the high waters of a day", "",
     {CODE: HEIGHT + HIGH_WATERS, "tests/test_forecast.py": TEST}),
    (17, "ann", "Say how it is used", "", {"docs/usage.md": USAGE, "README.md": README}),
    (9, "ann", "Measure the mean range", "", {CODE: HEIGHT + HIGH_WATERS + RANGE}),
    (2, "kim", "Look every six minutes instead of every quarter of an hour", "",
     {CODE: HEIGHT + EXACT + RANGE}),
    (1, "kim", "Find the low waters as well", "low-waters",
     {CODE: HEIGHT.replace("PERIODS\n", "PERIODS\n\nSTEPS = 10\n", 1) + NAMED + LOW_WATERS + RANGE,
      "docs/usage.md": USAGE + "`low_waters(parts, days)` gives the hours of low water.\n"}),
    (0, "kim", "Draw a day as a curve", "curve", {"docs/curve.md": "# The curve of a day\n"}),
)  # fmt: skip
"""Days ago, who, the message, the branch if it is not main, and the files."""
ISSUES = (
    ("ann", "The table of harbours lacks Old Lock", ["documentation"], "It is measured since 2004."),
    ("kim", "Low waters are missing", ["feature", "forecast"],
     (
         "High waters alone do not say when the **lock** opens.\n\n- [x] find the hours\n"
         "- [ ] find the heights\n- [ ] say so in `docs/usage.md`\n\n> At low water the gate stays shut."
     )),
    ("kim", "Heights are 10 cm too low in spring", ["bug", "forecast"], "Seen at North Quay in March."),
    ("ann", "Read the parts of a harbour from a file", ["feature"], "One TOML file for each harbour."),
    ("kim", "Which zero do the heights count from?", ["question"], "The chart's, or the mean?"),
)  # fmt: skip
LABELS = {"bug": "#d73a4a", "documentation": "#0075ca", "feature": "#1a7f37", "forecast": "#8250df",
          "question": "#bf8700"}  # fmt: skip
WIDE, PHONE = 1280, 360


@dataclass(frozen=True)
class Picture:
    """A page, how large the window is, and whether the system prefers dark."""

    path: str
    width: int
    height: int
    dark: bool = False


PAGES = {
    "start": ("", 640),
    "repository": (BASE, 1000),
    "file": (f"{BASE}/src/branch/main/{CODE}", 860),
    "blame": (f"{BASE}/blame/branch/main/{CODE}", 860),
    "commits": (f"{BASE}/commits/branch/main", 720),
    "issues": (f"{BASE}/issues", 720),
    "issue": (f"{BASE}/issues/2", 1000),
    "pulls": (f"{BASE}/pulls", 640),
    "pull-request": (f"{BASE}/pulls/6", 1250),
    "changes": (f"{BASE}/pulls/6/files?style=split", 1100),
    "edit": (f"{BASE}/_edit/main/docs/usage.md", 1100),
    "webhook": (f"{BASE}/settings/hooks/{{hook}}", 720),
}
"""The path of a page, and the height of a wide window."""
SHOWN = {
    **{name: Picture(path, WIDE, height) for name, (path, height) in PAGES.items()},
    **{f"{name}-dark": Picture(path, WIDE, height, dark=True) for name, (path, height) in PAGES.items()},
    **{
        f"{name}-phone": Picture(path.replace("?style=split", ""), PHONE, 1000)
        for name, (path, _) in PAGES.items()
    },
}


class Receiver(BaseHTTPRequestHandler):
    """The endpoint of the webhook for releases, which is closed."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(503 if self.headers["X-Gitea-Event"] == "release" else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Nothing: the history of the hook says it."""


@contextmanager
def receiver() -> Iterator[str]:
    """Run a receiver during the block, and yield its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/deploy"
        server.shutdown()


class World:
    """Makes what the pages show, as one person or another."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def make(self, path: str, *, by: str = "ann", method: str = "POST", **body: Any) -> Any:
        answer = await self._http.request(method, path, json=body, headers={"Sudo": by})
        if not answer.is_success:
            raise SystemExit(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json() if answer.content else None

    async def commit(self, days: int, by: str, message: str, branch: str, files: dict[str, str]) -> str:
        """The id of the new commit."""
        time = (datetime.now(UTC) - timedelta(days=days, hours=2)).isoformat(timespec="seconds")
        changes = [
            {"operation": "upload", "path": path, "content": base64.b64encode(text.encode()).decode()}
            for path, text in files.items()
        ]
        dates = {"author": time, "committer": time}
        names = {"branch": "main", "new_branch": branch} if branch else {"branch": "main"}
        body: dict[str, Any] = {"message": message, "files": changes, "dates": dates, **names}
        return str((await self.make(f"repos/{BASE}/contents", by=by, **body))["commit"]["sha"])

    async def fill(self, target: str) -> int:
        """The id of the webhook."""
        root, _ = ADMINISTRATOR
        for name in ("ann", "kim"):
            address = f"{name}@example.org"
            await self.make("admin/users", by=root, username=name, email=address, password=PASSWORD)
        await self.make("orgs", username="harbour", full_name="The harbour office")
        for name, text in (("charts", "Depths of the harbour, by year"),
                           ("tides", "Forecasts of high and low water")):  # fmt: skip
            await self.make("orgs/harbour/repos", name=name, description=text, auto_init=name == "charts")
        await self.make("user/repos", name="notes", description="What is worth a line", auto_init=True)
        await self.make(f"repos/{BASE}/collaborators/kim", method="PUT", permission="write")
        await self.make(f"repos/{BASE}/topics", method="PUT", topics=["forecast", "sea"])
        events = ["push", "issues", "pull_request", "release"]
        config = {"url": target, "content_type": "json", "secret": PASSWORD}
        hook = await self.make(f"repos/{BASE}/hooks", type="gitea", config=config, events=events, active=True)
        shas = [await self.commit(*commit) for commit in COMMITS]
        new = f"repos/{BASE}/labels"
        labels = {one: (await self.make(new, name=one, color=LABELS[one]))["id"] for one in LABELS}
        for by, title, names, text in ISSUES:
            ids = [labels[name] for name in names]
            await self.make(f"repos/{BASE}/issues", by=by, title=title, body=text, labels=ids)
        await self._discuss()
        await self._review(shas[5], labels["feature"])
        await self.make(f"repos/{BASE}/releases", tag_name="v1.0", name="First forecast",
                        body="High waters of 40 harbours.")  # fmt: skip
        async with asyncio.timeout(PATIENCE):
            while not await self._is_released(f"repos/{BASE}/hooks/{hook['id']}/deliveries"):
                await asyncio.sleep(0.2)
        return int(hook["id"])

    async def _discuss(self) -> None:
        issue = f"repos/{BASE}/issues/2"
        await self.make(f"repos/{BASE}/milestones", title="Second forecast", due_on="2030-06-01T00:00:00Z")
        await self.make(issue, method="PATCH", assignees=["ann"], milestone=1)
        await self.make(f"{issue}/comments",
                        body=(
                            "The heights are those of high water, upside down:\n\n```python\n"
                            "low = [(name, -size) for name, size in parts]\n```"
                        ))  # fmt: skip
        await self.make(f"{issue}/comments", by="kim", body="Good, I try that. @ann, do you look at it?")
        for content, by in (("heart", "kim"), ("heart", "ann"), ("laugh", "kim")):
            await self.make(f"{issue}/reactions", by=by, content=content)
        await self.make(f"repos/{BASE}/issues/1", method="PATCH", state="closed")

    async def _review(self, sha: str, label: int) -> None:
        text = "The hours at which the water stops falling, from the same parts.\n\nCloses #2"
        pulls = f"repos/{BASE}/pulls"
        await self.make(pulls, by="kim", title="Find the low waters as well", head="low-waters", base="main",
                        body=text, labels=[label])  # fmt: skip
        await self.make(f"repos/{BASE}/statuses/{sha}", by="kim", state="success", context="tests",
                        description="24 tests in 3 seconds")  # fmt: skip
        comment = {"path": CODE, "new_position": 26,
                   "body": (
                       "A shorter name would do:\n\n```suggestion\n    negative = [(name, -size) for name, "
                       "size in parts]\n```"
                   )}  # fmt: skip
        await self.make(f"{pulls}/6/reviews", event="COMMENT",
                        body="Nearly there. One name, and it can go in.", comments=[comment])  # fmt: skip
        await self.make(f"repos/{BASE}/issues/6/comments", by="kim",
                        body="Thank you! I keep the long one: it says what happens.")  # fmt: skip
        await self.make(f"{pulls}/6/reviews", event="APPROVED", body="That is a reason.")
        await self.make(pulls, by="kim", title="WIP: Draw a day as a curve", head="curve", base="main")
        await self.make(f"{pulls}/7/requested_reviewers", by="kim", reviewers=["ann"])

    async def _is_released(self, path: str) -> bool:
        deliveries = (await self._http.get(path)).json()
        return any(one["event"] == "release" and one["status_code"] for one in deliveries)


async def take(person: Person, picture: Picture, hook: int) -> bytes:
    """One picture, as PNG."""
    size = {
        "width": picture.width,
        "height": picture.height,
        "deviceScaleFactor": 1,
        "mobile": picture.width == PHONE,
    }
    await person.page.call("Emulation.setDeviceMetricsOverride", **size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if picture.dark else "light"}
    await person.page.call("Emulation.setEmulatedMedia", features=[scheme])
    await person.page.call("Emulation.setScrollbarsHidden", hidden=True)
    await person.visit(picture.path.format(hook=hook))
    await person.page.wait_for("!!document.querySelector('.bell .count')")  # which comes after the page
    shown = await person.page.call("Page.captureScreenshot", format="png")
    return base64.b64decode(shown["data"])


async def take_all(names: Iterable[str]) -> tuple[dict[str, bytes], list[str]]:
    """The pictures by name, and what the browser complained about."""
    with tempfile.TemporaryDirectory() as folder, receiver() as target:
        ingot = Standalone(Path(folder))
        with running(ingot):
            api = f"{ingot.url}api/v1/"
            async with httpx.AsyncClient(base_url=api, auth=ADMINISTRATOR, timeout=PATIENCE) as http:
                hook = await World(http).fill(target)
            async with open_browser(ingot.url, Path(folder) / "browser") as person:
                await person.sign_in("ann", PASSWORD)
                pictures = {name: await take(person, SHOWN[name], hook) for name in names}
                return pictures, person.page.complaints


def main(names: list[str]) -> int:
    """The exit code."""
    if PROGRAM is None:
        print("there is no Chromium on PATH")
        return 2
    pictures, faults = asyncio.run(take_all(names or SHOWN))
    for name, content in pictures.items():
        (PICTURES / f"{name}.png").write_bytes(content)
        if len(content) > MOST_BYTES:
            faults.append(f"{name}: {len(content):,} bytes are more than {MOST_BYTES:,}")
    for fault in faults:
        print(fault)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
