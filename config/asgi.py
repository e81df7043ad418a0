"""The ASGI application: `POST /v1/responses` goes to its endpoint, WebSockets to their consumer, the rest to Django."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.core.asgi import get_asgi_application

django_application = get_asgi_application()

from channels.routing import ProtocolTypeRouter  # noqa: E402  (these need the app registry)

from responses_api.http.routing import HttpRouter  # noqa: E402
from responses_api.websocket.consumer import ResponsesConsumer  # noqa: E402

application = ProtocolTypeRouter(
    {"http": HttpRouter(django_application), "websocket": ResponsesConsumer.as_asgi()}
)
