"""`/healthz`: the process lives. `/readyz`: the parts it needs answer, and which one does not."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from responses_api.services.health import parts


class _Probe(APIView):
    """Probes have no key."""

    authentication_classes = ()
    permission_classes = ()


class Healthz(_Probe):
    """`GET /healthz`."""

    def get(self, request: Request) -> Response:
        """The web process answers."""
        return Response({"status": "ok"})


class Readyz(_Probe):
    """`GET /readyz`."""

    def get(self, request: Request) -> Response:
        """200 when a response could be generated now, else 503; `parts` says what is missing, without addresses."""
        states = parts()
        is_ready = all(state == "ok" for state in states.values())
        body = {"status": "ready" if is_ready else "not ready", "parts": states}
        return Response(body, status=200 if is_ready else 503)
