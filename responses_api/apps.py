"""The responses app."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ResponsesApiConfig(AppConfig):
    """The Open Responses API: stored objects, transports, admin."""

    name = "responses_api"
    verbose_name = "Responses"

    def ready(self) -> None:
        """Let a change of keys or tenants reach every process, pages read the counters of limits, and the database
        keep vectors where it can.
        """
        from responses_api.eventlog import bus
        from responses_api.quotas.reading import stand
        from responses_api.services import vectors
        from tenants import standing
        from tenants.signals import access_changed

        access_changed.connect(bus.announce_access_change, dispatch_uid="antiphon.access_changed")
        standing.read_by(stand)
        post_migrate.connect(vectors.prepare, sender=self, dispatch_uid="antiphon.vectors")
