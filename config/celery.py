"""The Celery application: which broker, which queues, how tasks are acknowledged.

An answer that was half told is never told a second time: a job is taken once, however many tickets come, and
what a dead worker held is ended, or given to another worker, by the reaper (`responses_api/services/reap.py`). Results
are not kept: the event log carries them, so neither the broker nor a result backend ever holds content. Messages are
tickets: how many jobs of a queue a worker may take.
"""

import os
import ssl
from typing import Any
from urllib.parse import urlsplit

from celery import Celery
from celery.signals import setup_logging
from kombu import Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.conf import settings

from config.logging import configure
from responses_api.dispatch import AMQP_QUEUE, BACKGROUND_QUEUE, QUEUES, destination, is_amqp

_DEFAULT_QUEUE = "antiphon.default"
_PURGE_SECONDS = 600.0
_ROLL_UP_SECONDS = 60.0
# How often somebody looks which routes are due for a check. When they are, the database says: beat forgets.
_CHECK_SECONDS = 600.0
# Of the queue for ever: RabbitMQ refuses one that is declared otherwise than it was made.
_PRIORITIES = 9
# RabbitMQ would close the channel of a worker that acknowledges nothing for half an hour.
_LONGEST_UNACKNOWLEDGED_MILLISECONDS = 24 * 60 * 60 * 1000


def _scheme() -> str:
    return urlsplit(str(settings.CELERY_BROKER_URL)).scheme


def _transport_options() -> dict[str, Any]:
    """Options of the Redis transport; RabbitMQ's has none of these.

    Without `ack_emulation` a message costs one write less at each end. Redelivery is not missed: live messages are
    acknowledged early anyway, and what a lost worker held is ended by the reaper.
    """
    if is_amqp():
        return {}
    return {
        "ack_emulation": False,
        "queue_order_strategy": "priority",  # in the order of QUEUES
        "socket_keepalive": True,
        "health_check_interval": 25,
    }


def _amqp_options() -> dict[str, Any]:
    """RabbitMQ only: what makes it hand out the most urgent message first, and only to a slot that is free.

    It holds messages back only from who has not acknowledged as many as it may have: acknowledged early, as many again
    would wait in the worker's memory, in the order in which they came.
    """
    if not is_amqp():
        return {}
    arguments = {
        "x-queue-type": "classic",
        "x-max-priority": _PRIORITIES,
        "x-consumer-timeout": _LONGEST_UNACKNOWLEDGED_MILLISECONDS,
    }
    return {
        "task_queues": [Queue(AMQP_QUEUE, queue_arguments=arguments)],
        "task_acks_late": True,
    }


def _checks() -> dict[str, Any]:
    """The look at the routes, where it is switched on."""
    if settings.CONFORMANCE_HOURS is None:
        return {}
    seconds = min(_CHECK_SECONDS, settings.CONFORMANCE_HOURS * 3600)
    return {
        "check the routes": {
            "task": "antiphon.check_routes",
            "args": ["schedule"],
            "schedule": seconds,
            "options": {**destination(BACKGROUND_QUEUE), "expires": seconds},
        }
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
    task_default_queue=destination(_DEFAULT_QUEUE)["queue"],
    task_create_missing_queues=True,
    worker_prefetch_multiplier=1,
    # A message waits in the broker for a worker with a free slot, not in the memory of a busy one. (Of Redis only; for
    # RabbitMQ see above.)
    worker_disable_prefetch=not is_amqp(),
    worker_send_task_events=False,
    worker_enable_remote_control=False,
    worker_hijack_root_logger=False,
    beat_schedule={
        "reap lost workers": {
            "task": "antiphon.reap",
            "schedule": settings.LEASE_SECONDS / 2,
            "options": {**destination(_DEFAULT_QUEUE), "expires": settings.LEASE_SECONDS},
        },
        "purge what has expired": {
            "task": "antiphon.purge",
            "schedule": _PURGE_SECONDS,
            "options": {**destination(_DEFAULT_QUEUE), "expires": _PURGE_SECONDS},
        },
        "add the ledger up": {
            "task": "antiphon.roll_up",
            "schedule": _ROLL_UP_SECONDS,
            "options": {**destination(_DEFAULT_QUEUE), "expires": _ROLL_UP_SECONDS},
        },
        **_checks(),
    },
    **_amqp_options(),
)
app.autodiscover_tasks(["workers"])

WORKER_ARGUMENTS = (
    "--pool=threads",
    f"--concurrency={settings.WORKER_SLOTS}",
    "--without-gossip",
    "--without-mingle",
    "--without-heartbeat",
    f"--queues={AMQP_QUEUE if is_amqp() else ','.join(QUEUES)}",
)


@setup_logging.connect
def _log_as_the_web_does(**_: object) -> None:
    configure(settings.LOGGING)
