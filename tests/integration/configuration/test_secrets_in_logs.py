"""Neither the log nor an error report tells what opens an account, nor what somebody has posted."""

import logging
from typing import Any

import pytest
from django.conf import settings
from django.http import HttpRequest
from django.test import RequestFactory
from django.views.debug import technical_500_response
from structlog.stdlib import ExtraAdder

from config.logging import FORMATS, rendering
from tenants.site.pages import told_path
from tests.isolation.routes import routes

MARKER = "marker-of-what-nobody-may-read"


@pytest.mark.parametrize(
    "path",
    [
        "/accounts/invitation/{}/",
        "/accounts/invitation/{}",
        "/accounts/confirm-email/{}/",
        "/accounts/password/reset/key/1-{}/",
        "/accounts/password/reset/key/1-{}/more",
        "/accounts/{}",
    ],
)
def test_no_token_of_a_link_is_told(path: str) -> None:
    assert MARKER not in told_path(path.format(MARKER))
    assert told_path(path.format(MARKER)).startswith("/accounts/")


def test_every_address_without_a_token_is_told_as_it_is() -> None:
    plain = [
        f"/{route}" for route in routes() if route.startswith("accounts/") and not set(route) & set("<(^")
    ]
    assert len(plain) > 20
    assert [told_path(path) for path in plain] == plain


@pytest.mark.parametrize(
    "path", ["/", "/v1/responses/resp_1", "/admin/tenants/apikey/1/change/", "/accountsx/a"]
)
def test_other_addresses_are_told_whole(path: str) -> None:
    assert told_path(path) == path


@pytest.mark.parametrize("style", FORMATS)
def test_what_django_logs_of_a_request_has_neither_its_token_nor_its_query(style: str) -> None:
    path = f"/accounts/invitation/{MARKER}/"
    request = RequestFactory().get(path, {"q": MARKER})
    record = logging.LogRecord(
        "django.request", logging.ERROR, "", 0, "Internal Server Error: %s", (path,), None
    )
    record.request = request
    event: Any = {"event": record.getMessage(), "level": "error", "_record": record}
    event = ExtraAdder()(logging.getLogger("django.request"), "error", event)
    del event["_record"]
    for process in rendering(style):
        event = process(None, "error", event)
    assert "Internal Server Error: /accounts/invitation/" in event
    assert MARKER not in event


def failed_page(request: HttpRequest) -> str:
    """The page that DEBUG shows of a view that has failed."""

    def view() -> None:
        prompt = " ".join(("a prompt", MARKER))
        raise RuntimeError(f"{len(prompt)} characters were too many")

    try:
        view()
    except RuntimeError as error:
        page = technical_500_response(request, type(error), error, error.__traceback__)
    return page.content.decode()


def secret_of(number: int) -> str:
    return "".join(("secret-", "value-", str(number)))


@pytest.mark.parametrize("debug", [True, False])
def test_an_error_report_has_no_values(debug: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "DEBUG", debug)
    monkeypatch.setattr(settings, "VALKEY_URL", f"redis://:{secret_of(1)}@localhost:6379/0")
    monkeypatch.setattr(settings, "CELERY_BROKER_URL", f"redis://:{secret_of(2)}@localhost:6379/0")
    monkeypatch.setattr(
        settings, "CACHES", {"default": {"LOCATION": f"redis://:{secret_of(3)}@localhost:6379/0"}}
    )
    monkeypatch.setattr(settings, "SEAL_KEYS", [secret_of(4)])
    request = RequestFactory().post("/admin/", {"input": secret_of(5), "password1": secret_of(6)})
    request.META["HTTP_AUTHORIZATION"] = f"Bearer {secret_of(7)}"
    request.COOKIES[settings.SESSION_COOKIE_NAME] = secret_of(8)
    assert request.POST["input"] == secret_of(5)
    page = failed_page(request)
    assert "RuntimeError" in page
    assert "prompt" in page
    assert "password1" in page
    told = [number for number in range(1, 9) if secret_of(number) in page]
    assert told == []
    assert f"a prompt {MARKER}" not in page
