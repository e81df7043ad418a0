"""The Celery application: which broker, which queues, how tasks are acknowledged.

Live responses are acknowledged early: an answer that was half told is never told a second time; what a dead worker
held is ended by the reaper instead (`responses_api/services/reap.py`). Results are not kept: the event log carries
them, so neither the broker nor a result backend ever holds content. Messages carry response ids only.
"""

import os
import ssl
from typing import Any
from urllib.parse import urlsplit

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.conf import settings

from config.logging import configure
from responses_api.dispatch import QUEUES

_DEFAULT_QUEUE = "antiphon.default"


def _scheme() -> str:
    return urlsplit(str(settings.CELERY_BROKER_URL)).scheme


def _is_amqp() -> bool:
    return _scheme().startswith("amqp")


def _transport_options() -> dict[str, Any]:
    """Options of the Redis transport; RabbitMQ's has none of these.

    Without `ack_emulation` a message costs one write less at each end. Redelivery is not missed: live messages are
    acknowledged early anyway, and what a lost worker held is ended by the reaper.
    """
    if _is_amqp():
        return {}
    return {
        "ack_emulation": False,
        "queue_order_strategy": "priority",  # in the order of QUEUES
        "socket_keepalive": True,
        "health_check_interval": 25,
    }


app = Celery("antiphon")
app.conf.update(
    broker_url=settings.CELERY_BROKER_URL,
    # kombu would take any certificate for `rediss:` unless it is told otherwise.
    broker_use_ssl={"ssl_cert_reqs": ssl.CERT_REQUIRED} if _scheme() == "rediss" else None,
    broker_connection_retry_on_startup=True,
    broker_connection_timeout=4,
    # One heartbeat a second (AMQP only): Celery looks whether it was told to stop at each, else every ten seconds.
    broker_heartbeat=60,
    broker_heartbeat_checkrate=60,
    broker_transport_options=_transport_options(),
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    task_acks_late=False,
    task_default_queue=_DEFAULT_QUEUE,
    task_create_missing_queues=True,
    worker_prefetch_multiplier=1,
    # A message waits in the broker for a worker with a free slot, not in the memory of a busy one. (Redis only;
    # RabbitMQ hands a worker at most as many as it has slots.)
    worker_disable_prefetch=not _is_amqp(),
    worker_send_task_events=False,
    worker_enable_remote_control=False,
    worker_hijack_root_logger=False,
    beat_schedule={
        "reap lost workers": {
            "task": "antiphon.reap",
            "schedule": settings.LEASE_SECONDS / 2,
            "options": {"queue": _DEFAULT_QUEUE, "expires": settings.LEASE_SECONDS},
        },
    },
)
app.autodiscover_tasks(["workers"])

WORKER_ARGUMENTS = (
    "--pool=threads",
    "--concurrency=128",
    "--without-gossip",
    "--without-mingle",
    "--without-heartbeat",
    f"--queues={','.join(QUEUES)}",
)


@setup_logging.connect
def _log_as_the_web_does(**_: object) -> None:
    configure(settings.LOGGING)
