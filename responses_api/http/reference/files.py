"""The calls of files, as the registry has them."""

from typing import Final

from responses_api.http.reference import refusals as r
from responses_api.http.reference.call import BYTES, FORM, JSON, Answer, Call, Parameter
from responses_api.http.reference.examples import FILE_ID
from responses_api.http.reference.schemas import UPLOAD_BODY
from responses_api.protocol.files import PURPOSES
from responses_api.protocol.published import answers

_FILE_ID: Final = Parameter(
    name="file_id",
    place="path",
    description="The file's id.",
    schema={"type": "string", "minLength": 1},
    example=FILE_ID,
)
_PAGE: Final = (
    Parameter(
        name="limit",
        place="query",
        description="How many files at most.",
        schema={"type": "integer", "minimum": 1, "maximum": 10_000, "default": 100},
    ),
    Parameter(
        name="order",
        place="query",
        description="`desc`: the newest first.",
        schema={"type": "string", "enum": ["asc", "desc"], "default": "desc"},
    ),
    Parameter(
        name="after",
        place="query",
        description="The `last_id` of the page before.",
        schema={"type": "string", "pattern": r"^(file_[0-9a-f]{44})?$"},
    ),
    Parameter(
        name="purpose",
        place="query",
        description="Files for this only.",
        schema={"type": "string", "enum": list(PURPOSES)},
    ),
)

CALLS: Final[tuple[Call, ...]] = (
    Call(
        method="post",
        path="/v1/files",
        name="uploadFile",
        scope="files:write",
        tag="Files",
        summary="Upload a file",
        description=(
            "Keeps a file for the key's tenant, until it is deleted or expires. Its text is read afterwards, to be "
            "searched: until then its `status` is `uploaded`. The same content may be uploaded again; it is "
            "another file. A tenant with zero data retention keeps no files."
        ),
        body=UPLOAD_BODY,
        body_media=FORM,
        answers=(Answer(description="The file.", content={JSON: answers.File}),),
        refusals=(
            r.MISSING,
            r.WRONG_VALUE,
            r.UNSUPPORTED,
            r.BAD_FORM,
            r.FILE_TOO_LARGE,
            r.STORAGE_FULL,
            r.NO_FORM,
            *r.ANY_CALL,
        ),
    ),
    Call(
        method="get",
        path="/v1/files",
        name="listFiles",
        scope="files:read",
        tag="Files",
        summary="List files",
        description="The files of the key's tenant, newest first.",
        parameters=_PAGE,
        answers=(Answer(description="A page of files.", content={JSON: answers.FileList}),),
        refusals=(r.BAD_PARAMETER, *r.ANY_CALL),
    ),
    Call(
        method="get",
        path="/v1/files/{file_id}",
        name="retrieveFile",
        scope="files:read",
        tag="Files",
        summary="Retrieve a file",
        description="The file as it is now: what it is called, how large it is, and whether its text was read.",
        parameters=(_FILE_ID,),
        answers=(Answer(description="The file.", content={JSON: answers.File}),),
        refusals=(r.BAD_PARAMETER, r.NO_FILE, *r.ANY_CALL),
    ),
    Call(
        method="delete",
        path="/v1/files/{file_id}",
        name="deleteFile",
        scope="files:write",
        tag="Files",
        summary="Delete a file",
        description="Deletes the file for good, with the text that was read from it; also while that is being read.",
        parameters=(_FILE_ID,),
        answers=(Answer(description="It is gone.", content={JSON: answers.DeletedFile}),),
        refusals=(r.BAD_PARAMETER, r.NO_FILE, *r.ANY_CALL),
    ),
    Call(
        method="get",
        path="/v1/files/{file_id}/content",
        name="downloadFile",
        scope="files:read",
        tag="Files",
        summary="Download a file",
        description="The file's content, byte by byte as it was uploaded.",
        parameters=(_FILE_ID,),
        answers=(
            Answer(
                description="The content.",
                content={BYTES: bytes},
                headers={"Content-Disposition": "That it is a file to be kept, and its name."},
            ),
        ),
        refusals=(r.NO_FILE, *r.ANY_CALL),
    ),
)
