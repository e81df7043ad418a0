"""Secrets of a tool in what people are shown and given of a response that had them: pages, files, the audit log."""

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Final

import httpx2
import pytest

from tests.e2e.mcp.secret import MARKER, PROMPT, TOKEN, look, tool
from tests.support.client import Json
from tests.support.mcp_server import RealMcpServer
from tests.support.service import Service

RESPONSES: Final = "/admin/responses_api/response/"
TRY: Final = "/admin/policies/try/"
PASSWORD: Final = "a long enough password"
PEOPLE: Final = f"""
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from tenants.members import add_member
from tenants.models import Tenant
from tenants.scoping import operator_scope
User.objects.create_superuser("operator", "operator@secrets.example", "{PASSWORD}")
owner = User.objects.create_user("owner", "owner@secrets.example", "{PASSWORD}")
EmailAddress.objects.create(user=owner, email=owner.email, verified=True, primary=True)
with operator_scope():
    tenant = Tenant.objects.get(name="friend")
add_member(tenant, owner, "owner")
print(tenant.id)
"""
POLICY: Final = '{"rules": [{"id": "asks", "effect": "approve", "kind": "mcp"}]}'


@pytest.fixture(scope="module")
def tenant_id(running_mcp_service: Service) -> str:
    """The friend, to whom an owner belongs now; there is an operator, too."""
    return running_mcp_service.manage("shell", "-v0", "-c", PEOPLE).strip()


@pytest.fixture(params=["operator", "owner"])
def person(request: pytest.FixtureRequest, service: Service, tenant_id: str) -> Iterator[httpx2.Client]:
    """Somebody who has signed in."""
    with httpx2.Client(base_url=service.root_url, follow_redirects=True, timeout=30) as browser:
        page = browser.get("/admin/")
        form = {
            "login": request.param,
            "password": PASSWORD,
            "csrfmiddlewaretoken": browser.cookies["csrftoken"],
        }
        page = browser.post(page.url, data=form, headers={"Referer": str(page.url)})
        assert page.url.path == "/admin/", page.text
        yield browser


def post(person: httpx2.Client, path: str, **form: str) -> httpx2.Response:
    token = person.cookies["csrftoken"]
    answer = person.post(
        path, data={**form, "csrfmiddlewaretoken": token}, headers={"Referer": str(person.base_url)}
    )
    assert answer.status_code == 200
    return answer


def unpacked(archive: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        return "".join(files.read(name).decode() for name in files.namelist())


def test_no_page_and_no_file_of_the_console_has_them(
    service: Service, server: RealMcpServer, person: httpx2.Client, tenant_id: str
) -> None:
    server.token = TOKEN
    body: Json = {"input": f"{PROMPT}: use headers.", "tools": [tool(server, allowed_tools=["headers"])]}
    response_id = service.friend.create(**body).json()["id"]
    page = f"{RESPONSES}{response_id.replace('_', '_5F')}"
    told = [person.get(f"{page}/{name}/").text for name in ("change", "events", "json")]
    told += [person.get(f"{RESPONSES}export/").text, person.get("/admin/playground/").text]
    assert all(response_id in text for text in told[:4])
    assert all("The tool returned" in text for text in told[:4])
    archive = unpacked(post(person, f"/admin/tenants/tenant/{tenant_id}/export/").content)
    assert PROMPT in archive
    log = person.get("/admin/tenants/auditevent/").text
    assert "response.exported" in log
    assert MARKER not in "".join((*told, archive, log))


def test_a_dry_run_repeats_them_in_its_form_alone(
    service: Service, server: RealMcpServer, person: httpx2.Client, tenant_id: str
) -> None:
    asked = {
        "model": service.friend.model,
        "input": PROMPT,
        "tools": [tool(server, allowed_tools=["headers"])],
    }
    given = {"body": json.dumps(asked), "draft_for": "tenant", "draft": POLICY}
    page = post(person, f"{TRY}?tenant={tenant_id}", **given).text
    begin, _, rest = page.partition('<textarea name="body"')
    pasted, _, end = rest.partition("</textarea>")
    assert MARKER in pasted
    assert "tools: headers" in begin
    assert MARKER not in begin + end
    look(service)
