"""The form of a secret in clear in the files of deploy/."""

import re

SECRET_NAMES = re.compile(r"(?<!RATE_LIMIT_)(PRIVATE_KEY|SEALING_KEY|PASSWORD|TOKEN|DATABASE_URL)$")
# A rate limit is a number of requests: INGOT_GATEWAY_RATE_LIMIT_TOKEN.
_ASSIGNED = re.compile(
    r"(?<!rate_limit_)(private_?key|sealing_?key|password|token|secret)[\"']?\s*[:=]\s*[\"']?([^\s\"'{$,\[\\;]+)",
    re.IGNORECASE,
)
_IN_URL = re.compile(r"://[^/\s:@$]+:[^@\s$]+@")
_ARMOUR = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY_TEXT = re.compile(r"(?<![A-Za-z0-9_/.-])[A-Za-z0-9_-]{43}=?(?![A-Za-z0-9_/.-])")
PLAIN = {"password", "key:", "secret:", "true", "false", "name:", "-"}


def looks_secret(line: str) -> bool:
    """Return True if ``line`` gives a password, a token or a key its value."""
    if line.lstrip().startswith("#"):
        return False
    assigned = _ASSIGNED.search(line)
    return bool(
        (assigned and assigned[2] not in PLAIN and not assigned[2].startswith(":"))
        or _IN_URL.search(line)
        or _ARMOUR.search(line)
        or _KEY_TEXT.search(line)
    )
