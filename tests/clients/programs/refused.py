"""Programs that run against Ingot elsewhere, and that the package registries do not serve."""

from collections.abc import Iterator

from ..installers import refused
from ..program import Program

MODULES = {
    "tea": "code.gitea.io/tea",
    "gitea-mcp": "gitea.com/gitea/gitea-mcp",
    "jenkins-x/go-scm": "github.com/jenkins-x/go-scm",
    "Woodpecker": "go.woodpecker-ci.org/woodpecker/v3",
    "git-credential-oauth": "github.com/hickford/git-credential-oauth",
    "Terraform provider": "github.com/go-gitea/terraform-provider-gitea",
    "Pipelines-as-code": "github.com/openshift-pipelines/pipelines-as-code",
}
"""The Go modules that the proxy answered 403 for."""


def programs() -> Iterator[Program]:
    for name, module in MODULES.items():
        install = refused(f"the Go proxy does not serve `{module}`")
        yield Program(
            name=name,
            version="—",
            registry="Go proxy",
            runs="—",
            install=install,
            run=lambda _folder, _instance: [],
        )


PROGRAMS = tuple(programs())
