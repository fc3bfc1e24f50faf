"""A client of LFS that speaks its protocol over HTTP, for tests."""

import hashlib

ROOT = "http://ingot.test"
MEDIA_TYPE = "application/vnd.git-lfs+json"
FILE = b"the bytes of a large file\n" * 1000


def oid_of(content):
    return hashlib.sha256(content).hexdigest()


def pointer_of(content):
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid_of(content)}\nsize {len(content)}\n"


def path(repo="ann/app"):
    return f"/{repo}.git/info/lfs"


async def ask(person, operation, *contents, repo="ann/app", **more):
    """The batch request for these contents."""
    objects = [{"oid": oid_of(one), "size": len(one)} for one in contents]
    body = {"operation": operation, "transfers": ["basic"], "objects": objects, **more}
    headers = {"Accept": MEDIA_TYPE, "Content-Type": MEDIA_TYPE}
    return await person.call("POST", f"{path(repo)}/objects/batch", body, headers=headers)


async def objects_of(person, operation, *contents, **more):
    answer = await ask(person, operation, *contents, **more)
    assert answer.status_code == 200, answer.text
    return answer.json()["objects"]


async def put(person, content, *, href="", as_oid="", size=None, repo="ann/app"):
    """Send the bytes of an object, to where its batch said."""
    target = href.removeprefix(ROOT)
    if not target:
        target = f"{path(repo)}/objects/{as_oid or oid_of(content)}/{len(content) if size is None else size}"
    headers = person.headers() | {"Content-Type": "application/octet-stream"}
    return await person.world.http.put(target, headers=headers, content=content)


async def upload(person, content=FILE, repo="ann/app"):
    """Store an object as git-lfs does; its answer."""
    (offered,) = await objects_of(person, "upload", content, repo=repo)
    if "actions" in offered:
        answer = await put(person, content, href=offered["actions"]["upload"]["href"])
        assert (answer.status_code, answer.text) == (200, "")
        target = offered["actions"]["verify"]["href"].removeprefix(ROOT)
        verified = await person.call("POST", target, {"oid": offered["oid"], "size": offered["size"]})
        assert (verified.status_code, verified.text) == (200, "")
    return offered


async def download(person, content=FILE, repo="ann/app", **headers):
    return await person.call("GET", f"{path(repo)}/objects/{oid_of(content)}", headers=headers)
