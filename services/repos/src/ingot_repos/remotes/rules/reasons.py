"""Reasons for failures of remotes, as texts for users."""

from ingot_git.remote.remote import Reason
from ingot_repos.lfs.rules.objects import LFS_OFF

REASON_TEXTS: dict[Reason, str] = {
    "access": "who added it may no longer administer the repository",
    "address": "the address may not be reached from here",
    "archive": "the archive is damaged, or it was removed since; import it again",
    "archived": "the repository is archived",
    "broken": "the data that the remote sent is broken or incomplete",
    "busy": "the source limits requests; the import continues after a pause",
    "cancelled": "was cancelled",
    "dumb-http": "the server of the remote only offers files; it needs git's smart HTTP protocol",
    "failed": "fetching failed",
    "forge-answer": "the source does not answer as its API should",
    "format": "the remote uses another object format than SHA-1",
    "host-key": "the host key of the remote is not known",
    "idle": "the remote sent nothing for too long",
    "lfs-address": "the address of an object of LFS may not be reached from here",
    "lfs-failed": "there is no LFS server at the remote, or it does not answer as it should",
    "lfs-missing": "the remote does not give these objects of LFS, or sends them damaged",
    "lfs-off": LFS_OFF,
    "lfs-room": "there is no room for the objects of LFS",
    "lfs-too-large": "an object of LFS is larger than the limit",
    "lfs-unauthorized": "the LFS server of the remote refused the credentials",
    "lfs-unreachable": "the LFS server of the remote cannot be reached",
    "no-repository": "there is no git repository at this address",
    "not-found": "the remote has no such repository",
    "redirect": "the remote answers with a redirect; use the address to which it redirects",
    "refused": "the source has data that does not fit, or its numbers of issues are taken here",
    "rejected": "the remote refused some branches or tags",
    "room": "there is no room for the repository; an administrator has to make some",
    "secrets": "user name and password were sealed with another key; set them again",
    "tls": "no trusted TLS connection to the remote",
    "too-large": "the repository is larger than the limit",
    "too-many": "the organization has more repositories, teams, or members of a team than the limit",
    "too-many-refs": "the remote has more branches and tags than the limit",
    "unauthorized": "the remote refused the credentials",
    "unreachable": "the remote cannot be reached",
    "unsafe": "the remote has an object that git refuses in a push, such as .gitmodules with a hostile path",
}
"""Texts for users. Messages of the remote and of git are never shown."""


def reason_text(reason: str) -> str:
    """Return the text for a stored reason; empty without a reason."""
    return next((text for key, text in REASON_TEXTS.items() if key == reason), "")
