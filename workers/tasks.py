"""The Celery tasks. Each is a thin shell: it enters the runtime or calls one service."""

import threading
import uuid

from celery import shared_task
from celery.signals import worker_ready, worker_shutdown, worker_shutting_down
from django.conf import settings

from responses_api.dispatch import GENERATE, GENERATE_BACKGROUND
from responses_api.services import indexing, once, retention, stored_files, tenant_end
from responses_api.services.check_asking import CHECK_ROUTES, check_routes
from responses_api.services.housekeeping import END_TENANT, PURGE_TENANT, purge_and_tell
from responses_api.services.reap import reap
from responses_api.services.rescue import rescue
from responses_api.services.soft_limits import TELL_OWNERS
from responses_api.services.sweep import sweep
from tenants.notices import tell_owners
from tenants.rollup import roll_up
from workers.readers import read_files
from workers.runtime import Runtime, process_runtime, running_runtime

_is_ending = threading.Event()


@shared_task(name=GENERATE, ignore_result=True)
def generate(queue_name: str, count: int) -> None:
    """Generate the next so many responses of this queue, each of the next tenant's; holds its slot until all of them
    have ended.
    """
    process_runtime().run(queue_name, count)


@shared_task(name=GENERATE_BACKGROUND, ignore_result=True)
def generate_in_background(queue_name: str, count: int) -> None:
    """As `generate`, of responses that nobody waits for: their rows say whether they are still wanted."""
    process_runtime().run_in_background(queue_name, count)


@shared_task(name="antiphon.reap", ignore_result=True)
def reap_lost_workers() -> None:
    """End or give on what lost workers left behind, and find what everybody has lost sight of."""
    reap()
    rescue()
    indexing.rescue()
    sweep()


@shared_task(name="antiphon.purge", ignore_result=True)
def purge_expired() -> None:
    """Delete what has expired."""
    once.purge()
    retention.purge_expired()
    stored_files.purge()
    tenant_end.end_asked_for()


@shared_task(name="antiphon.roll_up", ignore_result=True)
def roll_up_usage() -> None:
    """Add up what has come to the ledger."""
    roll_up()


@shared_task(name=PURGE_TENANT, ignore_result=True)
def purge_tenant(tenant_id: str, before: int) -> None:
    """Delete what a tenant stored before a moment (unix seconds)."""
    purge_and_tell(uuid.UUID(tenant_id), before)


@shared_task(name=END_TENANT, ignore_result=True)
def end_tenant(tenant_id: str) -> None:
    """Delete what a tenant has whose end was asked for; what cannot go yet beat deletes later."""
    tenant_end.end_tenant(uuid.UUID(tenant_id))


@shared_task(name=TELL_OWNERS, ignore_result=True)
def tell_the_owners(tenant_id: str, subject: str, text: str) -> None:
    """Tell the owners of a tenant something by e-mail."""
    tell_owners(uuid.UUID(tenant_id), subject, text)


@shared_task(name=CHECK_ROUTES, ignore_result=True)
def check_the_routes(occasion: str) -> None:
    """Play the conformance suite's scenarios against the routes; breaks off when the worker is told to stop."""
    check_routes(occasion, _is_ending.is_set)


@shared_task(name=indexing.INDEX_FILES, ignore_result=True)
def index_files() -> None:
    """Read the files that wait to be searched, if not enough of this worker's slots do so already."""
    read_files(_is_ending.is_set)


@worker_ready.connect
def _start(**_: object) -> None:
    """Register the worker as alive before its first job, so that `/readyz` knows of it."""
    runtime: Runtime = process_runtime()
    runtime.wait_until_started()


@worker_shutting_down.connect
def _drain(**_: object) -> None:
    """Told to stop, Celery waits for its tasks, however long: what still runs after a while is ended."""
    _is_ending.set()
    runtime = running_runtime()
    if runtime is not None:
        runtime.stop_after(settings.DRAIN_SECONDS)


@worker_shutdown.connect
def _stop(**_: object) -> None:
    runtime = running_runtime()
    if runtime is not None:
        runtime.close()
