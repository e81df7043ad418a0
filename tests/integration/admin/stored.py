"""Stored responses for the tests of the admin, made as a worker makes them: parsed, finished, stored."""

import uuid
from typing import Any

from django.contrib.admin.utils import quote

from responses_api.models import Backend
from responses_api.protocol.ids import item_prefix
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import parse_create
from responses_api.protocol.response import snapshot, stored_item, usage
from responses_api.services.finish import Outcome, finish
from responses_api.services.identity import new_id, now
from tenants.models import Tenant

RESPONSES = "/admin/responses_api/response/"


def store(
    tenant: Tenant, body: Json | None = None, *output: Json, status: str = "completed", **end: Any
) -> str:
    """Store a response of `tenant` and return its id."""
    request = parse_create({"model": "stub", "input": "Hello", **(body or {})})
    backend = Backend(name="stub", base_url="http://stub.invalid/v1")
    items = [stored_item(item, new_id(item_prefix(item["type"]))) for item in request.input]
    job = Job(
        response_id=new_id("resp"),
        tenant_id=str(tenant.id),
        key_id=str(uuid.uuid4()),
        request_id="req_test",
        created_at=now(),
        request={**request.to_plain(), "input": []},
        history=[],
        input_items=items,
        backend=backend.spec().to_plain(),
        upstream_model="stub",
        inbox=None,
        dialect="open",
    )
    told = [{"id": new_id(item_prefix(item["type"])), "status": "completed", **item} for item in output]
    final = snapshot(
        response_id=job.response_id,
        created_at=job.created_at,
        request=request,
        status=status,
        output=told,
        usage=usage(7, 11),
        **end,
    )
    assert finish([Outcome(job, final)]) == {job.response_id}
    return job.response_id


def answer(text: str) -> Json:
    """An assistant's message."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "role": "assistant", "content": [part]}


def page_of(response_id: str) -> str:
    """The address of a response's page."""
    return f"{RESPONSES}{quote(response_id)}/change/"
