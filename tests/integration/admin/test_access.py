"""Who sees the admin: operators all of it, other staff no tenant data, everybody else the login page."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tenants.keys import issue_key
from tenants.models import ApiKey, Tenant
from tenants.scoping import operator_scope
from tests.integration.admin.people import person_of
from tests.integration.admin.stored import page_of, store

LISTS = (
    "/admin/tenants/tenant/",
    "/admin/tenants/apikey/",
    "/admin/responses_api/response/",
    "/admin/responses_api/backend/",
    "/admin/auth/user/",
)


@pytest.mark.parametrize("path", ["/admin/", *LISTS])
def test_an_operator_opens_every_list_to_which_nothing_comes_from_elsewhere(
    operator: Client, path: str
) -> None:
    page = operator.get(path)
    assert page.status_code == 200
    allowed = page.headers["Content-Security-Policy"].split("; ")
    assert {"default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(allowed)


@pytest.mark.parametrize("path", [f"{path}add/" for path in LISTS if "response/" not in path])
def test_an_operator_opens_every_form(operator: Client, friend: Tenant, path: str) -> None:
    assert operator.get(path).status_code == 200


def test_an_operator_opens_the_pages_of_a_tenant_and_of_a_key(operator: Client, friend: Tenant) -> None:
    issue_key(friend, name="laptop")
    with operator_scope():
        key = ApiKey.objects.get()
    for path in (f"/admin/tenants/tenant/{friend.id}/change/", f"/admin/tenants/apikey/{key.id}/change/"):
        assert "Friend &amp; Sons" in operator.get(path).content.decode()


def test_staff_who_belong_to_no_tenant_do_not_come_in_even_with_permissions(
    staff: Client, friend: Tenant
) -> None:
    user = User.objects.get(username="staff")
    user.user_permissions.set(Permission.objects.all())
    issue_key(friend, name="laptop")
    response_id = store(friend)
    with operator_scope():
        key = ApiKey.objects.get()
    one = [
        f"/admin/tenants/apikey/{key.id}/",
        f"/admin/tenants/tenant/{friend.id}/",
        page_of(response_id).removesuffix("change/"),
    ]
    pages = [*LISTS, *[f"{path}{view}/" for path in one for view in ("change", "delete", "history")]]
    answers = [staff.get(path) for path in ["/admin/", *pages]]
    assert {answer.status_code for answer in answers} == {302}
    assert all(answer.headers["Location"].startswith("/admin/login/") for answer in answers)


def test_somebody_else_is_sent_to_the_login(db: None) -> None:
    for path in ("/admin/", *LISTS):
        answered = Client().get(path)
        assert answered.status_code == 302
        assert answered.headers["Location"].startswith("/admin/login/")


@pytest.mark.parametrize(
    "path",
    [
        "responses_api/response/?status=%00",
        "responses_api/response/?model=%00",
        "responses_api/response/?q=%00",
        "responses_api/backend/?a%00b=1",
        "responses_api/response/resp_%00/change/",
        "responses_api/response/resp_%00/delete/",
        "autocomplete/?app_label=tenants&model_name=apikey&field_name=tenant&term=%00",
    ],
)
def test_a_nul_in_an_address_is_refused(operator: Client, friend: Tenant, path: str) -> None:
    answered = operator.get(f"/admin/{path}")
    assert answered.status_code == 400
    assert answered.json()["error"]["type"] == "invalid_request"


def test_an_operator_signs_in_at_the_page_for_everybody_by_the_name_they_have(operator: Client) -> None:
    asked = Client().get("/admin/login/?next=/admin/tenants/tenant/")
    assert asked.headers["Location"] == "/accounts/login/?next=/admin/tenants/tenant/"
    form = {"login": "operator", "password": "a long password", "next": "/admin/tenants/tenant/"}
    answered = Client().post("/accounts/login/", form)
    assert (answered.status_code, answered.headers["Location"]) == (302, "/admin/tenants/tenant/")


def test_pages_name_an_icon_of_their_own(operator: Client) -> None:
    assert 'rel="icon" href="data:image/svg+xml,' in operator.get("/admin/").content.decode()


def test_a_login_that_began_at_no_page_ends_at_the_admin(operator: Client) -> None:
    assert Client().get("/admin/login/").headers["Location"] == "/accounts/login/?next=/admin/"
    answered = Client().post("/accounts/login/", {"login": "operator", "password": "a long password"})
    assert (answered.status_code, answered.headers["Location"]) == (302, "/admin/")


def test_who_is_signed_in_reads_their_address_not_the_username_that_was_made_for_them(friend: Tenant) -> None:
    browser = person_of(friend, "member", "u-made-up")
    User.objects.filter(username="u-made-up").update(email="ada@example.com")
    page = browser.get("/admin/").content.decode()
    assert "ada@example.com" in page
    assert "u-made-up" not in page
