"""Errors of SCIM (RFC 7644, section 3.12)."""

from typing import Literal

from ingot_chassis.errors import ApiError

ScimType = Literal["invalidFilter", "invalidPath", "invalidSyntax", "invalidValue", "mutability", "noTarget"]


class ScimError(ApiError):
    """A request that SCIM refuses, with the type that clients read."""

    status = 400

    def __init__(self, scim_type: ScimType, detail: str) -> None:
        super().__init__(detail)
        self.scim_type = scim_type


class Taken(ApiError):
    """A value that another resource has."""

    status = 409
    scim_type = "uniqueness"


class VersionMismatch(ApiError):
    """The resource changed since the version of `If-Match`."""

    status = 412
