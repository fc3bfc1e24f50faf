"""Secrets that Ingot gets or gives are not exposed.

Each is sent in every possible way, validly and invalidly. Afterwards none of them is in a log line, a
trace, an error or a list of processes.
Nor is one in the files of a database, the streams of NATS, or a backup.
"""

import asyncio
import base64
import gzip
import hashlib
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncssh
import httpx
from aiohttp import web
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from ..e2e.deployments import ADMINISTRATOR, Standalone
from .credentials import VERIFIER, lfs_token
from .test_web_pages import TOKEN

PRIVATE_KEY = f"""-----BEGIN OPENSSH PRIVATE KEY-----
{base64.b64encode(b"openssh-key-v1 canary of a key").decode()}
-----END OPENSSH PRIVATE KEY-----"""


CODE = "X-Gitea-OTP"


class Outside:
    """The servers outside of Ingot: a collector of traces, an endpoint of hooks, and a remote with a
    password."""

    def __init__(self) -> None:
        self.traces: list[bytes] = []
        self.processes: list[bytes] = []
        self.environments: list[bytes] = []
        """Of git and what it starts."""
        self.passwords = asyncio.Semaphore(0)
        """Released whenever git has sent a password."""
        self.url = ""

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator["Outside"]:
        outside = cls()
        runner = web.ServerRunner(web.Server(outside._answer), shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        outside.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield outside
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        if request.path == "/v1/traces":
            is_packed = request.headers.get("content-encoding") == "gzip"
            self.traces.append(gzip.decompress(body) if is_packed else body)
        if not request.path.endswith("/info/refs"):
            return web.Response()
        if "authorization" not in request.headers:
            return web.Response(status=401, headers={"www-authenticate": 'Basic realm="remote"'})
        # git waits for this answer, and so does everything that started it.
        lines = dict(proc_files("cmdline"))
        self.processes += lines.values()
        self.environments += [
            content
            for process, content in proc_files("environ")
            if lines.get(process, b"").startswith(b"git")
        ]
        self.passwords.release()
        if "refused" in request.path:
            return web.Response(status=403)
        kind = "application/x-git-upload-pack-advertisement"
        return web.Response(body=b"001e# service=git-upload-pack\n00000000", content_type=kind)


def proc_files(name: str) -> Iterator[tuple[str, bytes]]:
    """The number and that file of every process on this machine."""
    for file in Path("/proc").glob(f"[0-9]*/{name}"):
        try:
            yield file.parent.name, file.read_bytes()
        except OSError:
            continue  # it has ended


class Visitor:
    """Sends requests; ``errors`` are the texts of all answers that are none of success."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self.errors: list[str] = []

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """An answer of success, or of a form."""
        answer = await self._client.request(method, path, **options)
        assert answer.status_code < 400, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    async def fail(self, method: str, path: str, **options: Any) -> None:
        """The request is refused."""
        answer = await self._client.request(method, path, **options)
        assert 400 <= answer.status_code < 500, f"{method} {path}: {answer.status_code} {answer.text}"
        self.errors.append(answer.text)


async def hand_over(visitor: Visitor, outside: Outside, ssh_port: int) -> dict[str, str]:
    """Give and get secrets of every kind; what they are."""
    ask, fail, api = visitor.ask, visitor.fail, "api/v1/"
    secrets = {
        "password": "canary-password-7Ww", "wrong password": "canary-mistyped-8Xx", "hook": "canary-hook-9Yy",
        "header of a hook": "Bearer canary-header-1Zz", "remote": "canary-remote-2Aa",
        "mirror": "canary-mirror-3Bb", "url": "canary-url-4Cc", "new password": "canary-changed-5Dd",
        "key": PRIVATE_KEY.splitlines()[1],
    }  # fmt: skip
    cora: Any = ("cora", secrets["password"])
    new = {"username": "cora", "email": "cora@example.org", "password": secrets["password"]}
    await ask("POST", f"{api}admin/users", auth=ADMINISTRATOR, json=new)
    await fail("POST", f"{api}admin/users", auth=ADMINISTRATOR, json=new)
    await fail("POST", f"{api}admin/users", auth=ADMINISTRATOR, json=new | {"email": 1})
    unreadable = f'{{"username": "dora", "password": "{secrets["password"]}'.encode()
    await fail("POST", f"{api}admin/users", auth=ADMINISTRATOR, content=unreadable)
    await fail("GET", f"{api}user", auth=("cora", secrets["wrong password"]))
    token = {"name": "t", "scopes": ["all"]}
    answer = await ask("POST", f"{api}users/cora/tokens", auth=cora, json=token)
    secrets["token"] = answer.json()["sha1"]
    headers = {"authorization": f"token {secrets['token']}"}
    for name in ("token", "access_token"):
        await ask("GET", f"{api}user?{name}={secrets['token']}")
        await fail("GET", f"{api}nothing?{name}={secrets['token']}")
        await fail("GET", f"{api}user?{name}=x{secrets['token']}")

    application = {"name": "app", "redirect_uris": [f"{outside.url}/"]}
    path = f"{api}user/applications/oauth2"
    answer = await ask("POST", path, headers=headers, json=application)
    secrets["application"] = answer.json()["client_secret"]
    exchange = {
        "grant_type": "authorization_code",
        "code": "canary-code-6Ee",
        "redirect_uri": f"{outside.url}/",
    }
    client = {"client_id": answer.json()["client_id"], "client_secret": secrets["application"]}
    await fail("POST", "login/oauth/access_token", data=exchange | client)
    await fail("POST", "login/oauth/access_token", data=exchange, auth=(*client.values(),))
    secrets["code"] = exchange["code"]
    secrets["factor"] = (await ask("POST", f"{api}user/two_factor", auth=cora)).json()["secret"]

    secrets |= await codes_of_second_factor(visitor, api)
    private = {"name": "app", "private": True, "auto_init": True}
    await ask("POST", f"{api}user/repos", headers=headers, json=private)
    secrets["token of LFS"] = await token_of_lfs(visitor, f"{api}user/keys", headers, ssh_port)
    repository = f"{api}repos/cora/app"
    config = {"url": f"{outside.url}/hook", "content_type": "json", "secret": secrets["hook"]}
    hook: dict[str, Any] = {
        "type": "gitea",
        "config": config,
        "authorization_header": secrets["header of a hook"],
    }
    await ask("POST", f"{repository}/hooks", headers=headers, json=hook | {"active": True})
    await fail("POST", f"{repository}/hooks", headers=headers, json=hook | {"type": "none"})
    await ask("POST", f"{repository}/issues", headers=headers, json={"title": "It creaks"})
    key = {"title": "pasted", "key": PRIVATE_KEY}
    await fail("POST", f"{repository}/keys", headers=headers, json=key)
    await fail("POST", f"{api}user/keys", headers=headers, json=key)

    remote = {"auth_username": "c", "auth_password": secrets["remote"]}
    at = outside.url.replace("://", f"://cora:{secrets['url']}@")
    refused = {"clone_addr": f"{outside.url}/refused.git", "repo_name": "refused"}
    await fail("POST", f"{api}repos/migrate", headers=headers, json=refused | remote)
    for name, body in {
        "one": remote | {"clone_addr": f"{outside.url}/a.git"},
        "two": {"clone_addr": f"{at}/b.git"},
    }.items():
        copy = body | {"repo_name": name, "mirror": True}
        await ask("POST", f"{api}repos/migrate", headers=headers, json=copy)
        await ask("GET", f"{api}repos/cora/{name}", headers=headers)
    mirror = {
        "remote_address": f"{outside.url}/refused.git",
        "remote_username": "c",
        "remote_password": secrets["mirror"],
    }
    await ask("POST", f"{repository}/push_mirrors", headers=headers, json=mirror)
    await ask("POST", f"{repository}/push_mirrors-sync", headers=headers)
    for _ in range(len(("refused", "one", "two", "mirror"))):
        await outside.passwords.acquire()

    form = {"token": TOKEN.search((await ask("GET", "login")).text)[1], "query": ""}  # type: ignore[index]
    signing_in = form | {"username": "cora", "password": secrets["wrong password"]}
    await fail("POST", "login", data=signing_in)
    signed_in = await ask("POST", "login", data=signing_in | {"password": secrets["password"]})
    secrets["session"] = signed_in.cookies["ingot-session"]
    await ask("GET", "user/settings")
    secrets |= await tokens_of_application(visitor, client["client_id"], exchange["redirect_uri"])
    changed = {"password": secrets["new password"], "login_name": "cora", "source_id": 0}
    await ask("PATCH", f"{api}admin/users/cora", auth=ADMINISTRATOR, json=changed)
    for name in ("password", "new password", "wrong password"):
        secrets[f"{name} in a header"] = base64.b64encode(f"cora:{secrets[name]}".encode()).decode()
    return secrets | {"password of root": ADMINISTRATOR[1]}


async def codes_of_second_factor(visitor: Visitor, api: str) -> dict[str, str]:
    """Return recovery codes of another user. With two-factor authentication, a code alone signs in."""
    name, password = "dana", "canary-password-of-dana-3Ff"
    new = {"username": name, "email": "dana@example.org", "password": password}
    await visitor.ask("POST", f"{api}admin/users", auth=ADMINISTRATOR, json=new)
    dana: Any = {"auth": (name, password)}
    secret = (await visitor.ask("POST", f"{api}user/two_factor", **dana)).json()["secret"]
    path, body = f"{api}user/two_factor/confirm", {"code": app_code(secret)}
    first = (await visitor.ask("POST", path, **dana, json=body)).json()["recovery_codes"]
    await visitor.fail("GET", f"{api}user", **dana, headers={CODE: f"x{first[0]}"})
    await visitor.ask("GET", f"{api}user", **dana, headers={CODE: first[0]})
    path = f"{api}user/two_factor/recovery_codes"
    new = {"headers": {CODE: first[1]}, "json": {"code": first[2]}}
    renewed = (await visitor.ask("POST", path, **dana, **new)).json()["recovery_codes"]
    codes = [*first, *renewed]
    assert len(codes) == len(set(codes)) == 20
    return {"factor that is on": secret, "password of dana": password} | {
        f"recovery code {number}{kind}": code
        for number, written in enumerate(codes)
        for kind, code in (("", written), (" without its signs", written.replace("-", "")))
    }


async def token_of_lfs(visitor: Visitor, keys: str, headers: dict[str, str], ssh_port: int) -> str:
    """Return the token that git-lfs gets over SSH; use it in right and wrong ways."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    laptop = {"title": "laptop", "key": key.export_public_key().decode()}
    await visitor.ask("POST", keys, headers=headers, json=laptop)
    name = "Lfs-Token"
    value = lfs_token(ssh_port, key, "cora/app")[name]
    path, batch = "cora/app.git/info/lfs/objects/batch", {"operation": "download", "objects": []}
    await visitor.ask("POST", path, headers={name: value}, json=batch)
    await visitor.fail("POST", path, headers={name: f"x{value}"}, json=batch)
    return value.split()[-1]


def app_code(secret: str) -> str:
    """Return the code that the app of a second factor shows now."""
    return TOTP(base64.b32decode(secret), 6, SHA1(), 30).generate(int(time.time())).decode()


async def tokens_of_application(visitor: Visitor, client_id: str, address: str) -> dict[str, str]:
    """Return an application's tokens for a signed-in user, whose browser has the code in its address."""
    path = "login/oauth/authorize"
    challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
    query = {
        "response_type": "code", "client_id": client_id, "redirect_uri": address, "scope": "openid read:user",
        "code_challenge": challenge, "code_challenge_method": "S256",
    }  # fmt: skip
    page = await visitor.ask("GET", path, params=query)
    form = {"token": TOKEN.search(page.text)[1], "decision": "allow"}  # type: ignore[index]
    answer = await visitor.ask("POST", path, params=query, data=form)
    code = httpx.URL(answer.headers["location"]).params["code"]
    client = {"client_id": client_id, "redirect_uri": address}
    path = "login/oauth/access_token"
    by_code = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}
    await visitor.fail("POST", path, data=client | by_code | {"code_verifier": "x" * 43})
    tokens = (await visitor.ask("POST", path, data=client | by_code)).json()
    refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    renewed = (await visitor.ask("POST", path, data=client | refresh)).json()
    bearer = {"authorization": f"Bearer {renewed['access_token']}"}
    await visitor.ask("GET", "login/oauth/userinfo", headers=bearer)
    await visitor.ask("GET", "login/oauth/userinfo", params={"access_token": renewed["access_token"]})
    await visitor.fail("POST", path, data=client | refresh)  # it comes twice
    names = ("access_token", "refresh_token")
    return {f"{name} of {which}": each[name] for name in names
            for which, each in (("a code", tokens), ("a refresh", renewed))} | {
        "code that was used": code, "verifier": VERIFIER, "id token": tokens["id_token"],
    }  # fmt: skip


async def test_no_secret_is_anywhere_else(tmp_path):
    async with Outside.open() as outside:
        variables = {
            "INGOT_LOG_LEVEL": "debug",
            "INGOT_OTLP_ENDPOINT": f"{outside.url}/v1/traces",
            "OTEL_BSP_SCHEDULE_DELAY": "100",
            "INGOT_REPOS_ALLOWED_REMOTES": "127.0.0.1",
        }
        deployment = Standalone(tmp_path, variables)
        try:
            await asyncio.to_thread(deployment.start)
            async with httpx.AsyncClient(base_url=deployment.url, timeout=60) as client:
                visitor = Visitor(client)
                secrets = await hand_over(visitor, outside, deployment.serve_ssh())
            backup = ("backup", "--data", str(tmp_path / "data"), "--to", str(tmp_path / "backups"))
            ingot = [str(Path(sys.executable).with_name("ingot")), *backup]
            done = await asyncio.to_thread(subprocess.run, ingot, capture_output=True, check=True)
            await asyncio.to_thread(deployment.stop)
        finally:
            deployment.end()

    contents = observations(outside, visitor) | contents_of(tmp_path)
    contents["backup"] = done.stdout + done.stderr
    assert b"POST /api/v1/repos" in contents["traces"], "spans arrived"
    (copy,) = [location for location in contents if re.search(r"backups/2.*/identity\.db$", location)]
    assert b"cora@example.org" in contents[copy]
    require_none(secrets, contents)


def observations(outside: Outside, visitor: Visitor) -> dict[str, bytes]:
    """Return everything that could be observed from outside during this time."""
    contents = {
        "traces": b"".join(outside.traces),
        "processes": b"".join(outside.processes),
        "environments": b"".join(outside.environments),
        "errors": "".join(visitor.errors).encode(),
    }
    assert b"git-remote-http" in contents["processes"], "looked at while git had the password"
    assert b"GIT_CONFIG_NOSYSTEM" in contents["environments"]
    assert not re.search(rb"PRIVATE_KEY|SEALING_KEY|DATABASE_URL", contents["environments"])
    return contents


def contents_of(folder: Path) -> dict[str, bytes]:
    """Every file below."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path): path.read_bytes() for path in files}


def require_none(secrets: Mapping[str, str], contents: Mapping[str, bytes]) -> None:
    leaks = [
        f"the {name} is in {location}"
        for location, content in contents.items()
        for name, secret in secrets.items()
        if secret.encode() in content
    ]
    assert not leaks, "\n".join(leaks)
