"""From a request that was checked to the job that a worker gets, with what it has to keep."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.conf import settings

from responses_api.eventlog.follow import Inbox
from responses_api.protocol.event_types import Dialect
from responses_api.protocol.ids import RESPONSE, item_prefix
from responses_api.protocol.job import Job, Purpose
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.response import stored_item
from responses_api.quotas.bounds import bound
from responses_api.quotas.counters import Check, checks
from responses_api.services.context import Context
from responses_api.services.identity import new_id, now
from responses_api.services.routing import ServedModel
from responses_api.services.tool_secrets import seal_secrets
from tenants.keys import Principal


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that was checked in every way and may be started: its job, also as bytes."""

    job: Job
    envelope: bytes
    inbox: Inbox
    checks: Sequence[Check]
    """The limits that it has to keep."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for what, in which way: see `create.prepare`."""

    principal: Principal
    request: CreateRequest
    dialect: Dialect
    request_id: str
    purpose: Purpose
    reserved_id: str | None
    generates: bool

    def prepared(self, model: ServedModel, context: Context, named_bytes: int, inbox: Inbox) -> Prepared:
        """The job, and what it has to keep; the files that it names by their ids hold so many bytes.

        Raises `ProtocolError` 400 for a context that makes no sense.
        """
        context.check()
        made_at = now()
        limited = _checks(self.principal, self.request.model, made_at, self.purpose)
        most = bound(
            self.request,
            (context.history, context.given),
            checks=limited,
            prices=model.highest_prices,
            context_window=model.widest_window,
            most_output=settings.RESERVED_OUTPUT_TOKENS,
            purpose=self.purpose,
            generates=self.generates,
            named_bytes=named_bytes,
        )
        job = replace(
            self._job(model, context, inbox.name, made_at),
            reserved=most.to_plain() if limited else None,
            output_cap=most.output_cap,
        )
        if len(model.targets) > 1:
            job = job.among(model.ordered(job))
        return Prepared(job, job.to_bytes(), inbox, limited)

    def _job(self, model: ServedModel, context: Context, inbox: str, made_at: int) -> Job:
        request, principal = self.request, self.principal
        response_id = self.reserved_id or new_id(RESPONSE)
        runs_tools = self.generates and self.purpose == "respond" and not request.compacts
        return Job(
            response_id=response_id,
            tenant_id=str(principal.tenant_id),
            key_id=str(principal.key_id),
            request_id=self.request_id,
            created_at=made_at,
            request={**request.to_plain(), "input": []},
            history=context.history,
            input_items=[stored_item(item, new_id(item_prefix(item["type"]))) for item in context.given],
            backend=model.first.backend,
            upstream_model=model.first.upstream_model,
            inbox=None if request.background or self.reserved_id else inbox,
            dialect=self.dialect,
            context_window=model.first.context_window,
            purpose=self.purpose,
            is_keyed=self.reserved_id is not None,
            prices=model.first.prices,
            policies=list(principal.policies) or None,
            sealed_secrets=seal_secrets(request, tenant_id=principal.tenant_id, response_id=response_id)
            if runs_tools
            else None,
        )


def _checks(principal: Principal, model: str, at: int, purpose: Purpose) -> Sequence[Check]:
    """The limits that a request has to keep; counting tokens is free."""
    if not principal.limits or purpose == "count_tokens":
        return ()
    return checks(principal.limits, principal.key_id, model, at)
