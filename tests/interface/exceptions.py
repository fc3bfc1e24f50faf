"""The fields in which Ingot differs from the description of Gitea, with the reasons.

An exception that is no longer needed fails a test.
"""

_VISIBLE = "the pages and lists of the user would stay open to everybody"
_CHATS = "no message would arrive: Ingot does not write messages of this form"
REFUSED: dict[tuple[str, str], tuple[list[object], str]] = {
    ("CreateHookOption", "type"): (["wechatwork", "packagist"], _CHATS),
    ("CreateTeamOption", "visibility"): (["private"], "the organization's members would see the team"),
    ("CreateUserOption", "visibility"): (["limited", "private"], _VISIBLE),
    ("EditRepoOption", "has_code"): ([False], "the code would stay readable"),
    ("EditTeamOption", "visibility"): (["private"], "the organization's members would see the team"),
    ("EditUserOption", "max_repo_creation"): ([1], "the user could create more repositories"),
    ("EditUserOption", "visibility"): (["limited", "private"], _VISIBLE),
}
"""Refused values, by the type of the body or the operation: to ignore them would mean something else."""

UNREAD = dict.fromkeys(
    ("getSigningKey", "getSigningKeySSH", "repoSigningKey", "repoSigningKeySSH"),
    "404 without a key of the server, which services/repos tests",
)
"""Operations whose answer is text that this server does not have."""

_LFS = "only of files of LFS, as in Gitea"
_BY_REQUEST = "only where a request asks for it, as in Gitea"
MISSING: dict[str, str] = {
    "CommitMeta.created": "the date of a parent would cost a read of every parent",
    "ContentsExtResponse.dir_contents": "only of folders, as in Gitea",
    "ContentsResponse.last_commit_message": _BY_REQUEST,
    "ContentsResponse.lfs_oid": _LFS,
    "ContentsResponse.lfs_size": _LFS,
    "GitBlobResponse.lfs_oid": _LFS,
    "GitBlobResponse.lfs_size": _LFS,
    "Repository.default_target_branch": "pull requests have no other default than the default branch",
    "User.followers_count": "of users inside other answers: a copy would soon be wrong",
    "User.following_count": "of users inside other answers: a copy would soon be wrong",
    "User.starred_repos_count": "identity does not know the stars",
}
"""Fields that some answers do not have."""

UNSEEN: dict[str, str] = {
    "Project": "there are no projects: `projects` of an issue is empty",
}
"""Types of answers of which the tests cannot make an object."""
