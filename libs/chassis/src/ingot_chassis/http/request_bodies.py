"""The API description of request bodies that handlers read as streams, not as parameters."""

from dataclasses import dataclass

from litestar.openapi.spec import OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema


@dataclass
class FileUpload(Operation):
    """A route's ``operation_class`` for a file: the field ``attachment`` of a form, or the whole body."""

    def __post_init__(self) -> None:
        file = Schema(type=OpenAPIType.STRING, content_media_type="application/octet-stream")
        form = Schema(type=OpenAPIType.OBJECT, properties={"attachment": file}, required=["attachment"])
        self.request_body = RequestBody(
            required=True,
            content={
                "multipart/form-data": OpenAPIMediaType(schema=form),
                "application/octet-stream": OpenAPIMediaType(schema=file),
            },
        )


@dataclass
class PlainText(Operation):
    """A route's ``operation_class`` for a text body."""

    def __post_init__(self) -> None:
        text = OpenAPIMediaType(schema=Schema(type=OpenAPIType.STRING))
        self.request_body = RequestBody(required=True, content={"text/plain": text})
