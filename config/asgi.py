"""The ASGI application: `POST /v1/responses` goes to its consumer, everything else through Django's views."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.core.asgi import get_asgi_application

django_application = get_asgi_application()

from responses_api.http.routing import HttpRouter  # noqa: E402  (needs the app registry)

application = HttpRouter(django_application)
