"""Tool policies: saved one after the other, and set and shown by commands."""

import json
import threading
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from responses_api.protocol.policy_reading import read_policy
from tenants.keys import new_key
from tenants.models import AuditEvent, Tenant, ToolPolicy
from tenants.policy_versions import PolicyMoved, save_version
from tenants.scoping import tenant_scope
from tests.support.tenants import make_tenant

RULES = {"rules": [{"id": "no-mail", "effect": "deny", "tool": "mail*"}], "on_violation": "suppress"}


def run(command: str, *arguments: str) -> str:
    out = StringIO()
    call_command(command, *arguments, stdout=out)
    return out.getvalue()


def written(folder: Path, text: object = RULES) -> str:
    file = folder / "policy.json"
    file.write_text(text if isinstance(text, str) else json.dumps(text))
    return str(file)


def numbers(tenant: Tenant) -> list[int]:
    with tenant_scope(tenant.id):
        return list(ToolPolicy.objects.order_by("version").values_list("version", flat=True))


def test_of_many_who_save_at_once_one_does_and_the_others_are_told(database: None) -> None:
    tenant = make_tenant("friend")
    ready, moved = threading.Barrier(6), list[int]()

    def save() -> None:
        try:
            ready.wait()
            with tenant_scope(tenant.id):
                save_version(tenant=tenant, key=None, policy=read_policy(RULES), based_on=0)
        except PolicyMoved as error:
            moved.append(error.newest.version if error.newest else 0)
        finally:
            connection.close()

    savers = [threading.Thread(target=save) for _ in range(6)]
    for saver in savers:
        saver.start()
    for saver in savers:
        saver.join()
    assert numbers(tenant) == [1]
    assert moved == [1] * 5


def test_a_policy_is_set_by_a_file_and_shown_in_words_and_as_json(db: None, tmp_path: Path) -> None:
    tenant, stranger = make_tenant("friend"), make_tenant("stranger")
    assert run("set_policy", "friend", written(tmp_path)) == (
        "Version 1 of the tool policy of friend is in force.\n"
    )
    shown = run("show_policy", "friend")
    assert "Version 1" in shown
    assert "1. Denies tools named 'mail*'. [no-mail]" in shown
    assert "A call that is refused is left out" in shown
    again = run("show_policy", "friend", "--json")
    assert run("set_policy", "friend", written(tmp_path, again)).startswith("Version 2")
    assert run("show_policy", "friend", "--json") == again
    assert "Version 1" in run("show_policy", "friend", "--at", "1")
    assert (numbers(tenant), numbers(stranger)) == ([1, 2], [])
    with tenant_scope(tenant.id):
        assert {
            (event.action, event.actor) for event in AuditEvent.objects.filter(action="policy.changed")
        } == {("policy.changed", "manage.py")}


def test_a_keys_policy_is_set_by_the_keys_name(db: None, tmp_path: Path) -> None:
    key, _ = new_key(make_tenant("friend"), name="robot")
    assert "of the key robot of friend" in run("set_policy", "friend", written(tmp_path), "--key", "robot")
    assert "Version 1" in run("show_policy", "friend", "--key", str(key.id))
    with pytest.raises(CommandError, match="There is no policy"):
        run("show_policy", "friend")


def test_what_cannot_be_set_is_said(db: None, tmp_path: Path) -> None:
    tenant = make_tenant("friend")
    for text, said in (
        ("{", "is not valid JSON"),
        ({"rules": [{"id": "a", "effect": "x"}]}, r"Rule 1 \('a'\): 'effect' must be"),
        ({"deny": []}, "there is no field 'deny'"),
    ):
        with pytest.raises(CommandError, match=said):
            run("set_policy", "friend", written(tmp_path, text))
    with pytest.raises(CommandError, match="cannot be read"):
        run("set_policy", "friend", str(tmp_path / "missing.json"))
    with pytest.raises(CommandError, match="no tenant named 'nobody'"):
        run("set_policy", "nobody", written(tmp_path))
    assert numbers(tenant) == []
    run("set_policy", "friend", written(tmp_path), "--based-on", "0")
    with pytest.raises(CommandError, match="in force is version 1, not version 0"):
        run("set_policy", "friend", written(tmp_path), "--based-on", "0")
    with pytest.raises(CommandError, match="no such version"):
        run("show_policy", "friend", "--at", "9")
    assert numbers(tenant) == [1]
