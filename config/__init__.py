"""Wiring only: settings, urls, the ASGI and Celery applications, logging, and the local runtime of `make run`."""
