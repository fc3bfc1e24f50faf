"""Put a release of Swagger UI into the gateway.

Run `npm pack swagger-ui-dist@5`, then this program with the file it wrote. It takes only the files that the
page loads. The same release always compresses to the same bytes.
"""

import gzip
import sys
import tarfile
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "services/gateway/src/ingot_gateway/api/viewer"
COMPRESSED = ("swagger-ui-bundle.js", "swagger-ui.css")
PLAIN = ("LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt")


def main(package: str) -> None:
    """Take the files out of the npm package at the path ``package``."""
    with tarfile.open(package) as archive:

        def content(name: str) -> bytes:
            file = archive.extractfile(f"package/{name}")
            if file is None:
                raise SystemExit(f"{package} has no {name}")
            return file.read()

        for name in COMPRESSED:
            (FOLDER / f"{name}.gz").write_bytes(gzip.compress(content(name), 9, mtime=0))
        for name in PLAIN:
            (FOLDER / name).write_bytes(content(name))


if __name__ == "__main__":
    main(sys.argv[1])
