"""Open a Python shell with an authenticated client of the running instance.

``python tools/shell.py [--url URL] [--user NAME]``. ``client`` has the base URL of the API:
``client.get("user").json()``.
"""

import argparse
import code
import contextlib
import os

import httpx
from seed import PASSWORD, URL, administrator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--url", default=os.environ.get("INGOT_URL") or URL, help="root URL of the instance (INGOT_URL)"
    )
    parser.add_argument("--user", help="a user of `make seed`; the first administrator without it")
    options = parser.parse_args()
    credentials = (options.user, PASSWORD) if options.user else administrator()
    client = httpx.Client(base_url=f"{options.url.rstrip('/')}/api/v1/", auth=credentials, timeout=60)
    try:
        answer = client.get("user")
    except httpx.TransportError as error:
        raise SystemExit(f"{options.url} does not answer ({error}); `make dev` starts an instance") from error
    if answer.is_error:
        raise SystemExit(f"{credentials[0]} cannot sign in ({answer.status_code}); set INGOT_ADMIN_PASSWORD")
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - for keys and history
    banner = f"client is signed in as {answer.json()['login']} at {client.base_url}"
    code.interact(banner, local={"client": client, "httpx": httpx}, exitmsg="")


if __name__ == "__main__":
    main()
