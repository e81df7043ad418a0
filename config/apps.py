"""Joins the wiring to Django's start: its system checks, and the Celery application as this process's current one."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """The wiring as a Django app."""

    name = "config"

    def ready(self) -> None:
        """Register the checks; make the Celery application the one that `dispatch` finds."""
        from config import celery, checks

        celery.app.set_default()
        checks.register_all()
