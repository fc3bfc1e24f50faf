"""Description of this server for SCIM clients (RFC 7643, sections 5 to 7)."""

from typing import Any

_CORE, _MESSAGES = "urn:ietf:params:scim:schemas:core:2.0:", "urn:ietf:params:scim:api:messages:2.0:"
USER, GROUP = f"{_CORE}User", f"{_CORE}Group"
ERROR, LIST = f"{_MESSAGES}Error", f"{_MESSAGES}ListResponse"
Described = dict[str, Any]


def provider_config(root: str, most_results: int) -> Described:
    """Return the features of this server."""
    return {
        "schemas": [f"{_CORE}ServiceProviderConfig"],
        "patch": {"supported": True},
        "bulk": {"supported": False, "maxOperations": 0, "maxPayloadSize": 0},
        "filter": {"supported": True, "maxResults": most_results},
        "changePassword": {"supported": False},
        "sort": {"supported": False},
        "etag": {"supported": True},
        "authenticationSchemes": [
            {
                "type": "oauthbearertoken",
                "name": "Bearer token",
                "description": "A token of the source, which an administrator makes",
                "primary": True,
            }
        ],
        "meta": {
            "resourceType": "ServiceProviderConfig",
            "location": f"{root}scim/v2/ServiceProviderConfig",
        },
    }


def resource_types(root: str) -> list[Described]:
    return [
        {
            "schemas": [f"{_CORE}ResourceType"],
            "id": name,
            "name": name,
            "endpoint": f"/{name}s",
            "description": description,
            "schema": schema,
            "meta": {"resourceType": "ResourceType", "location": f"{root}scim/v2/ResourceTypes/{name}"},
        }
        for name, description, schema in (
            ("User", "An account that the source manages", USER),
            ("Group", "A group of the source, which gives teams", GROUP),
        )
    ]


def schemas(root: str) -> list[Described]:
    members = [
        _attribute("value", mutability="immutable", description="The id of the user"),
        _attribute("$ref", kind="reference", mutability="immutable", referenceTypes=["User"]),
        _attribute("display", mutability="readOnly"),
        _attribute("type", mutability="immutable", canonicalValues=["User"]),
    ]
    emails = [
        _attribute("value"),
        _attribute("type", canonicalValues=["work"]),
        _attribute("primary", kind="boolean"),
    ]
    user = [
        _attribute("userName", required=True, uniqueness="server"),
        _attribute("name", kind="complex", subAttributes=[_attribute("givenName"), _attribute("familyName")]),
        _attribute("displayName"),
        _attribute("profileUrl", kind="reference", mutability="readOnly", referenceTypes=["external"]),
        _attribute("active", kind="boolean"),
        _attribute("emails", kind="complex", multiValued=True, subAttributes=emails),
    ]
    group = [
        _attribute("displayName", required=True, uniqueness="server"),
        _attribute("members", kind="complex", multiValued=True, subAttributes=members),
    ]
    return [
        {
            "schemas": [f"{_CORE}Schema"],
            "id": schema,
            "name": name,
            "description": description,
            "attributes": attributes,
            "meta": {"resourceType": "Schema", "location": f"{root}scim/v2/Schemas/{schema}"},
        }
        for schema, name, description, attributes in (
            (USER, "User", "A user", user),
            (GROUP, "Group", "A group", group),
        )
    ]


def _attribute(name: str, *, kind: str = "string", **traits: Any) -> Described:
    """Return an attribute of a schema; ``traits`` replace the defaults."""
    texts = {"caseExact": False, "uniqueness": "none"} if kind == "string" else {}
    return {
        "name": name,
        "type": kind,
        "multiValued": False,
        "description": name,
        "required": False,
        "mutability": "readWrite",
        "returned": "default",
        **texts,
        **traits,
    }
