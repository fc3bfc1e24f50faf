"""JGit: git in Java, as Jenkins, Gerrit and Eclipse use it."""

from pathlib import Path

from ...installers import maven_packages
from ...program import Program, script

VERSION = "7.8.1.202611041320-r"
PROGRAM = Program(
    name="JGit",
    version=VERSION,
    registry="Maven Central",
    runs="clones, fetches, pushes and deletes over HTTP",
    install=maven_packages(f"org.eclipse.jgit:org.eclipse.jgit:{VERSION}", "org.slf4j:slf4j-nop:2.0.17"),
    run=script("java", "-cp", "{folder}/lib/*", str(Path(__file__).parent / "Client.java")),
)
