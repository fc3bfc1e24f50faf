"""The LFS server of a `Remote`, next to its git. It misbehaves on demand."""

import json

from .lfs_client import oid_of


def response(content=b"", line="200 OK", *more):
    head = (f"HTTP/1.1 {line}", *more, f"Content-Length: {len(content)}", "Connection: close", "", "")
    return "\r\n".join(head).encode() + content


def redirect(url):
    return response(b"", "302 Found", f"Location: {url}")


class LfsServer:
    """An ``answer`` of a remote for requests of LFS; None leaves the request to git.

    ``href`` and ``header`` build the action of an object from its oid; ``contents`` has the bytes of objects
    by oid. ``batch`` and ``download`` replace the responses to these requests. ``refusals`` is the number of
    times that an object's URL is rejected before it works.
    """

    def __init__(self, remote, *contents):
        self.remote, self.contents = remote, {oid_of(one): one for one in contents}
        self.href = lambda oid: remote.url(f"lfs/{oid}")
        self.header, self.batch, self.download = {}, None, None
        self.batches, self.downloads, self.headers, self.refusals = [], [], {}, {}

    async def __call__(self, _method, target, headers, _writer):
        if target.endswith("/objects/batch"):
            self.headers["batch"] = headers
            body = json.loads(self.remote.body)
            self.batches.append((target, body))
            return self.batch or self._batch(body)
        if target.startswith("/lfs/"):
            self.headers["download"] = headers
            oid = target.removeprefix("/lfs/")
            self.downloads.append(oid)
            if self.downloads.count(oid) <= self.refusals.get(oid, 0):
                return response(b"", "403 Forbidden")
            return self.download or response(self.contents[oid])
        return None

    def _batch(self, body):
        objects = [{**one, **self._offer(one["oid"])} for one in body["objects"]]
        return response(json.dumps({"transfer": "basic", "objects": objects}).encode())

    def _offer(self, oid):
        if oid not in self.contents:
            return {"error": {"code": 404, "message": "secret words of the remote"}}
        return {"actions": {"download": {"href": self.href(oid), "header": self.header}}}
