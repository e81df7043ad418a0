"""Jobs and their ends, as the services and the event log take them."""

import uuid
from typing import Any

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.files import Described
from responses_api.protocol.ids import RESPONSE, item_prefix
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import parse_create
from responses_api.protocol.response import snapshot, stored_item, usage
from responses_api.services.finish import Outcome, finish
from responses_api.services.identity import new_id, now
from responses_api.services.uploads import Upload
from tenants.models import Tenant

BACKEND = BackendSpec(
    name="scripted",
    kind="chat_completions",
    base_url="http://127.0.0.1:9/v1",
    api_key_env=None,
    connect_timeout=1.0,
    first_byte_timeout=1.0,
    idle_timeout=1.0,
    total_timeout=1.0,
)


def job_of(
    tenant: Tenant,
    input: Any = "Hello",
    *,
    inbox: str | None = None,
    backend: BackendSpec = BACKEND,
    **body: Any,
) -> Job:
    """A job as `create` makes it."""
    request = parse_create({"model": "test-model", "input": input, **body})
    return Job(
        response_id=new_id(RESPONSE),
        tenant_id=str(tenant.id),
        key_id=str(uuid.uuid4()),
        request_id="req_1",
        created_at=now(),
        request={**request.to_plain(), "input": []},
        history=[],
        input_items=[stored_item(item, new_id(item_prefix(item["type"]))) for item in request.input],
        backend=backend.to_plain(),
        upstream_model="upstream-model",
        inbox=inbox,
        dialect="open",
    )


def said(text: str, status: str = "completed") -> Json:
    """A message of the model."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {
        "type": "message",
        "id": new_id("msg"),
        "status": status,
        "role": "assistant",
        "content": [part],
    }


def ended(job: Job, *output: Json, status: str = "completed", **fields: Any) -> Outcome:
    """The end of `job` with these output items."""
    request = parse_create({**job.request, "input": "x"})
    final = snapshot(
        response_id=job.response_id,
        created_at=job.created_at,
        request=request,
        status=status,
        output=output,
        usage=usage(7, 5),
        completed_at=now() if status == "completed" else None,
        **fields,
    )
    return Outcome(job, final)


def stored(tenant: Tenant, input: Any = "Hello", answer: str = "Hi", **body: Any) -> Json:
    """A response that was stored; returns its snapshot."""
    outcome = ended(job_of(tenant, input, **body), said(answer))
    assert finish([outcome]) == {outcome.job.response_id}
    return outcome.snapshot


def stored_file(
    tenant: Tenant, name: str = "herons.txt", content: bytes = b"Herons wade.", purpose: str = "user_data"
) -> Json:
    """A file of the tenant's, as the API tells it."""
    upload = Upload(tenant.id, key_id=uuid.uuid4())
    upload.begin(name, "", len(content))
    upload.take(content)
    return upload.finish(Described(purpose, None))
