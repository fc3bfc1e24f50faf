"""The routes of code in the matrix of roles: what each role gets from them, and what is sent to them."""

import itertools

R = "/repos/{repo}"
COUNTER = itertools.count(1)
NOTHING = "1" * 40
"""An id that no object has."""

READ = {
    f"GET {R}/{path}": 200
    for path in (
        "archive/master.bundle", "blame/README.md", "code/search?q=x", "commits", "compare/master",
        "contents", "contents-ext",
        "contents-ext/README.md", "contents/README.md", "file-contents?body=%7B%7D", "git/commits/master",
        "git/refs", "git/refs/heads", "git/trees/master", "languages", "licenses", "media/README.md", "tags",
        "tags/v1", "topics",
    )
} | {
    f"GET {R}/git/blobs/{NOTHING}": 404,
    f"GET {R}/git/notes/master": 404,
    f"GET {R}/git/tags/{NOTHING}": 404,
    f"POST {R}/file-contents": 200,
    "GET //{repo}/archive/master.zip": 200,
}  # fmt: skip
"""For readers: what they get."""
WRITE = {
    f"POST {R}/contents": 201,
    f"POST {R}/contents/fresh.txt": 201,
    f"PUT {R}/contents/fresh.txt": 201,
    f"DELETE {R}/contents/README.md": 422,
    f"POST {R}/diffpatch": 422,
    f"POST {R}/commits/master/revert": 201,
    f"POST {R}/branches": 201,
    f"PUT {R}/branches/master": 204,
    f"PATCH {R}/branches/master": 422,
    f"DELETE {R}/branches/none": 404,
    f"POST {R}/tags": 201,
    f"DELETE {R}/tags/v1": 409,
}
ADMIN = {f"PUT {R}/topics": 204, f"PUT {R}/topics/x": 204, f"DELETE {R}/topics/none": 404}
BODIES = {
    f"POST {R}/contents": lambda: {
        "files": [{"operation": "create", "path": f"f{next(COUNTER)}", "content": ""}]
    },
    f"POST {R}/contents/fresh.txt": lambda: {"content": ""},
    f"PUT {R}/contents/fresh.txt": lambda: {"content": ""},
    f"DELETE {R}/contents/README.md": lambda: {"sha": NOTHING},
    f"POST {R}/diffpatch": lambda: {"content": "no patch"},
    f"POST {R}/branches": lambda: {"new_branch_name": f"b{next(COUNTER)}"},
    f"PUT {R}/branches/master": lambda: {"new_commit_id": "master"},
    f"PATCH {R}/branches/master": lambda: {"name": "master"},
    f"POST {R}/tags": lambda: {"tag_name": f"t{next(COUNTER)}"},
    f"PUT {R}/topics": lambda: {"topics": ["x"]},
}
