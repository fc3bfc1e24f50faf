"""Pictures of docs/explanation/pictures as SVG: the services, and one sequence of messages for each flow."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent.parent / "docs/explanation/pictures"
STYLE = """\
<style>
text { font: 14px system-ui, sans-serif; fill: #1f2328; text-anchor: middle }
.box { fill: #eaf2ff; stroke: #4a6fa5 }
.store { fill: #fff4e0; stroke: #b07d2b }
.line { stroke: #4a6fa5; stroke-width: 1.5; fill: none }
.event { stroke: #b07d2b; stroke-width: 1.5; stroke-dasharray: 5 4; fill: none }
.life { stroke: #c5ccd3; stroke-dasharray: 3 4 }
.note { font-size: 12px; fill: #59636e }
</style>
<defs><marker id="end" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0 10 5 0 10z" fill="#4a6fa5"/></marker></defs>
"""
COLUMN, ROW = 170, 44


class Message(NamedTuple):
    """An arrow between two columns; to its own column it is work that a participant does by itself."""

    sender: str
    receiver: str
    text: str
    is_event: bool = False


FLOWS: dict[str, tuple[str, list[Message]]] = {
    "read": (
        "A read: GET /api/v1/repos/ann/demo",
        [
            Message("client", "gateway", "GET, with a token"),
            Message("gateway", "identity", "authenticate"),
            Message("identity", "gateway", "signed principal"),
            Message("gateway", "repos", "GET, Ingot-Principal"),
            Message("repos", "database", "read the row"),
            Message("repos", "repos", "decide access"),
            Message("repos", "gateway", "200, JSON"),
            Message("gateway", "client", "200, JSON"),
        ],
    ),
    "page": (
        "A page: GET /ann/demo/issues/1",
        [
            Message("browser", "gateway", "GET, session cookie"),
            Message("gateway", "identity", "authenticate"),
            Message("gateway", "web", "GET, Ingot-Principal"),
            Message("web", "issues", "issue, comments"),
            Message("issues", "repos", "access of the caller?"),
            Message("web", "web", "render the template"),
            Message("web", "browser", "HTML"),
        ],
    ),
    "write": (
        "A write: POST /api/v1/repos/ann/demo/issues",
        [
            Message("gateway", "issues", "POST, Ingot-Principal"),
            Message("issues", "repos", "access of the caller?"),
            Message("issues", "database", "rows and outbox, one commit"),
            Message("issues", "gateway", "201"),
            Message("issues", "NATS", "relay sends the event", is_event=True),
            Message("NATS", "hooks", "issue.changed", is_event=True),
            Message("hooks", "hooks", "inbox and deliveries"),
        ],
    ),
    "push": (
        "A push",
        [
            Message("git", "gateway", "POST git-receive-pack"),
            Message("gateway", "repos", "streamed"),
            Message("repos", "repos", "decide rights and rules"),
            Message("repos", "journal", "write down the refs"),
            Message("repos", "storage", "git moves the refs"),
            Message("repos", "journal", "settle: event and removal"),
            Message("repos", "git", "result"),
            Message("repos", "NATS", "push.received", is_event=True),
        ],
    ),
    "delivery": (
        "A webhook delivery",
        [
            Message("NATS", "hooks", "event", is_event=True),
            Message("hooks", "database", "inbox, one row per hook"),
            Message("worker", "database", "lease a row"),
            Message("worker", "endpoint", "POST, signed"),
            Message("endpoint", "worker", "status"),
            Message("worker", "database", "record, or try again later"),
        ],
    ),
    "merge": (
        "A merge of a pull request",
        [
            Message("gateway", "issues", "POST merge"),
            Message("issues", "issues", "reviews and rights"),
            Message("issues", "repos", "merge these commits"),
            Message("repos", "repos", "checks, protections"),
            Message("repos", "storage", "merge commit, journaled"),
            Message("repos", "issues", "commit id"),
            Message("issues", "gateway", "200"),
        ],
    ),
}

SERVICES = {
    "clients": (230, 20), "gateway": (230, 90), "web": (230, 160), "hooks": (90, 230), "issues": (370, 230),
    "repos": (230, 300), "identity": (230, 370), "NATS": (580, 300),
}  # fmt: skip
CALLS = [
    "clients gateway",
    "gateway web",
    "web issues",
    "web hooks",
    "issues repos",
    "hooks repos",
    "repos identity",
]
EVENTS = ["issues NATS", "repos NATS", "identity NATS"]
NOTES = [
    "solid: HTTP calls; the gateway also calls each service itself",
    "dashed: events, for repos, issues and hooks",
]


def pages() -> Iterator[tuple[Path, str]]:
    """Yield each picture and its text."""
    yield FOLDER / "services.svg", services()
    for name, (title, messages) in FLOWS.items():
        yield FOLDER / f"{name}.svg", sequence(title, messages)


def services() -> str:
    """Draw the services: solid arrows are calls, dashed ones are events."""
    parts = []
    for arrow in CALLS:
        (x1, y1), (x2, y2) = (SERVICES[name] for name in arrow.split())
        parts.append(f'<path class="line" d="M{x1} {y1 + 18} L{x2} {y2 - 18}" marker-end="url(#end)"/>')
    for arrow in EVENTS:
        (x1, y1), (x2, y2) = (SERVICES[name] for name in arrow.split())
        path = f"M{x1 + 60} {y1} L{x2 - 60} {y2 + (y1 - y2) // 7}"
        parts.append(f'<path class="event" d="{path}" marker-end="url(#end)"/>')
    for name, (x, y) in SERVICES.items():
        kind = "store" if name == "NATS" else "box"
        parts.append(f'<rect class="{kind}" x="{x - 60}" y="{y - 18}" width="120" height="36" rx="6"/>')
        parts.append(f'<text x="{x}" y="{y + 5}">{name}</text>')
    for number, note in enumerate(NOTES):
        parts.append(f'<text class="note" x="330" y="{414 + 18 * number}">{note}</text>')
    return _picture("The services of Ingot", 660, 445, parts)


def sequence(title: str, messages: list[Message]) -> str:
    """Draw participants as columns and messages as arrows from top to bottom."""
    names = list(dict.fromkeys(name for one in messages for name in (one.sender, one.receiver)))
    columns = {name: COLUMN // 2 + COLUMN * number for number, name in enumerate(names)}
    height = 70 + ROW * len(messages)
    parts = []
    for name, x in columns.items():
        parts.append(f'<line class="life" x1="{x}" y1="46" x2="{x}" y2="{height - 8}"/>')
        kind = "store" if name in ("database", "journal", "storage", "NATS") else "box"
        parts.append(f'<rect class="{kind}" x="{x - 60}" y="10" width="120" height="36" rx="6"/>')
        parts.append(f'<text x="{x}" y="33">{escape(name)}</text>')
    for number, one in enumerate(messages):
        y, start, end = 84 + ROW * number, columns[one.sender], columns[one.receiver]
        kind = "event" if one.is_event else "line"
        if start == end:
            line, middle = f"M{start} {y - 8} h26 v16 h-22", start
            parts.append(f'<path class="{kind}" d="{line}" marker-end="url(#end)"/>')
            parts.append(f'<text class="note" x="{middle}" y="{y - 14}">{escape(one.text)}</text>')
        else:
            parts.append(f'<path class="{kind}" d="M{start} {y} L{end} {y}" marker-end="url(#end)"/>')
            middle = (start + end) // 2
            parts.append(f'<text class="note" x="{middle}" y="{y - 6}">{escape(one.text)}</text>')
    return _picture(title, COLUMN * len(names), height, parts)


def _picture(title: str, width: int, height: int, parts: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
    )
    body = [f'<title>{escape(title)}</title>\n{STYLE}<rect width="100%" height="100%" fill="#fff"/>', *parts]
    return "\n".join([head, *body, "</svg>"]) + "\n"
