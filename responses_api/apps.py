"""The responses app."""

from django.apps import AppConfig


class ResponsesApiConfig(AppConfig):
    """The Open Responses API: stored objects, transports, admin."""

    name = "responses_api"
    verbose_name = "Responses"

    def ready(self) -> None:
        """Let a change of keys or tenants reach every process, and pages read the counters of limits."""
        from responses_api.eventlog import bus
        from responses_api.quotas.reading import stand
        from tenants import standing
        from tenants.signals import access_changed

        access_changed.connect(bus.announce_access_change, dispatch_uid="antiphon.access_changed")
        standing.read_by(stand)
