"""Names of browsers, derived from the User-Agent header."""

NAMES = {
    "Edg": "Edge", "EdgA": "Edge", "EdgiOS": "Edge", "OPR": "Opera", "Firefox": "Firefox", "FxiOS": "Firefox",
    "CriOS": "Chrome", "Chrome": "Chrome", "Safari": "Safari",
}  # fmt: skip
"""Names in user agents, rare ones first, because most also claim to be Chrome or Safari."""
SYSTEMS = {
    "Android": "Android", "iPhone": "iPhone", "iPad": "iPad", "Windows": "Windows", "Mac OS X": "macOS",
    "CrOS": "ChromeOS", "Linux": "Linux",
}  # fmt: skip


def browser(user_agent: str) -> str:
    """Return a short name such as “Firefox on Windows”, or the whole header for an unknown browser."""
    name = next((words for sign, words in NAMES.items() if f"{sign}/" in user_agent), "")
    system = next((words for sign, words in SYSTEMS.items() if sign in user_agent), "")
    return f"{name} on {system}" if name and system else user_agent or "a browser"
