"""Seals: what opens, and that everything else looks alike."""

import base64
import secrets
from dataclasses import replace

import pytest
from pytest_django import Settings

from config import seal_keys
from config.seal_keys import read_seal_keys
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.items import SealedType
from responses_api.protocol.plain import Json
from responses_api.sealing import (
    SealError,
    SealExpired,
    open_backend_key,
    open_seal,
    open_tool_secrets,
    seal,
    seal_backend_key,
    seal_tool_secrets,
)
from responses_api.services.tool_secrets import opened_secrets
from tests.unit.workers.builders import make_job

FRIEND, STRANGER = "9b2f-friend", "9b2f-stranger"
SOURCE = {"kind": "chat_completions", "backend": "scripted", "model": "m"}
AT = 1_750_000_000
STATE = [{"reasoning_content": "a secret thought", "reasoning_details": [{"signature": "c2ln"}]}]


def sealed(
    content: object = STATE, item_type: SealedType = "reasoning", tenant: str = FRIEND, at: int = AT
) -> str:
    return seal(content, item_type=item_type, tenant_id=tenant, source=SOURCE, at=at)


def opens(text: str, item_type: SealedType = "reasoning", tenant: str = FRIEND) -> bool:
    try:
        open_seal(text, item_type=item_type, tenant_id=tenant)
    except SealError:
        return False
    return True


def key() -> bytes:
    return secrets.token_bytes(32)


@pytest.mark.parametrize("content", [STATE, "text", "", [], {"a": [1, None, "ü\u0000"]}])
def test_what_was_sealed_opens_unchanged_with_its_source(content: object) -> None:
    found = open_seal(sealed(content), item_type="reasoning", tenant_id=FRIEND)
    assert (found.content, found.source) == (content, SOURCE)


def test_nothing_can_be_read_in_a_seal() -> None:
    text = sealed()
    raw = base64.urlsafe_b64decode(text + "==")
    for secret in (b"secret thought", b"scripted", FRIEND.encode()):
        assert secret not in text.encode()
        assert secret not in raw


def test_the_same_is_sealed_the_same_and_anything_else_with_another_nonce() -> None:
    assert sealed() == sealed()
    others = (sealed("x"), sealed(at=AT + 1), sealed(item_type="compaction"), sealed(tenant=STRANGER))
    nonces = {base64.urlsafe_b64decode(text + "==")[5:17] for text in (sealed(), *others)}
    assert len(nonces) == 5


def test_another_tenant_opens_nothing() -> None:
    text = sealed()
    assert opens(text)
    assert not opens(text, tenant=STRANGER)


def test_a_seal_is_for_its_type_of_item() -> None:
    assert not opens(sealed(item_type="reasoning"), item_type="compaction")


def test_every_changed_character_is_seen() -> None:
    text = sealed("ab")
    for place, character in enumerate(text):
        for other in ("A" if character != "A" else "B", chr(ord(character) ^ 1)):
            assert not opens(text[:place] + other + text[place + 1 :]), place


@pytest.mark.parametrize(
    "text", ["", "A", "====", "gAAAAABpM0Yj-7Zr", "not base64!", "ü" * 60, "AQ" * 20, "A" * 200, "\ud800"]
)
def test_what_never_was_a_seal_does_not_open(text: str) -> None:
    assert not opens(text)


@pytest.mark.parametrize(
    "change", [lambda s: s + "=", lambda s: s + "\n", lambda s: " " + s, lambda s: s[:-2]]
)
def test_another_spelling_does_not_open(change: object) -> None:
    assert callable(change)
    assert not opens(change(sealed()))


def test_the_first_key_seals_and_all_open(settings: Settings) -> None:
    old, new = key(), key()
    settings.SEAL_KEYS = (old,)
    before = sealed()
    settings.SEAL_KEYS = (new, old)
    after = sealed()
    assert opens(before)
    assert opens(after)
    settings.SEAL_KEYS = (new,)
    assert opens(after)
    assert not opens(before)


def test_what_was_sealed_before_there_were_keys_still_opens(settings: Settings) -> None:
    settings.SEAL_KEYS = ()
    before = sealed()
    settings.SEAL_KEYS = (key(),)
    assert opens(before)
    settings.SECRET_KEY = "another one, of fifty characters and more, for this one test"
    assert not opens(before)


def test_age_is_told_apart_from_forgery(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    text = sealed()
    settings.SEAL_DAYS = 2.0
    monkeypatch.setattr("responses_api.sealing.time.time", lambda: AT + 2 * 86_400)
    found = open_seal(text, item_type="reasoning", tenant_id=FRIEND)
    found.check_age()
    monkeypatch.setattr("responses_api.sealing.time.time", lambda: AT + 2 * 86_400 + 1)
    with pytest.raises(SealExpired):
        found.check_age()
    settings.SEAL_DAYS = None
    found.check_age()


def test_keys_are_read_in_every_spelling_of_base64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal_keys, "seal_key_mistakes", [])
    one = bytes(range(224, 256))
    spellings = [
        base64.b64encode(one).decode(),
        base64.urlsafe_b64encode(one).decode().rstrip("="),
        f" {base64.urlsafe_b64encode(one).decode()} ",
    ]
    assert read_seal_keys(spellings) == (one, one, one)
    assert seal_keys.seal_key_mistakes == []


def test_an_entry_that_is_no_key_is_left_out_and_told_without_quoting_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(seal_keys, "seal_key_mistakes", [])
    good = base64.b64encode(key()).decode()
    assert len(read_seal_keys([good, "hunter2", good[:-4]])) == 1
    assert [mistake.split(" is ")[0] for mistake in seal_keys.seal_key_mistakes] == [
        "Entry 2 of ANTIPHON_SEAL_KEYS",
        "Entry 3 of ANTIPHON_SEAL_KEYS",
    ]
    assert "hunter2" not in " ".join(seal_keys.seal_key_mistakes)


HOST = "https://api.example.com"


def opened_key(text: str, backend_id: int = 7, address: str = HOST) -> str | None:
    try:
        return open_backend_key(text, backend_id=backend_id, address=address)
    except SealError:
        return None


def sealed_key() -> str:
    return seal_backend_key("sk-stored-0123", backend_id=7, address=HOST)


def test_a_backends_key_opens_for_its_own_row_and_its_own_server_alone() -> None:
    text = sealed_key()
    assert opened_key(text) == "sk-stored-0123"
    assert "sk-stored" not in text
    assert b"sk-stored" not in base64.urlsafe_b64decode(text + "==")
    assert [opened_key(text, other) for other in (8, 70)] == [None, None]
    assert opened_key(text, address="https://api.example.com.evil.net") is None


def test_a_backends_key_outlives_the_seal_key_that_is_not_the_first_any_more(settings: Settings) -> None:
    old, new = key(), key()
    settings.SEAL_KEYS = (old,)
    text = sealed_key()
    settings.SEAL_KEYS = (new, old)
    assert opened_key(text) == "sk-stored-0123"
    assert sealed_key() != text
    settings.SEAL_KEYS = (new,)
    assert opened_key(text) is None


def test_a_backends_key_and_what_a_tenant_holds_are_never_taken_for_each_other() -> None:
    assert opened_key(sealed("sk-stored-0123", tenant="7")) is None
    assert not opens(sealed_key(), tenant="7")


SECRETS: Json = {"docs": {"headers": {"X-Key": "sk-very-secret"}, "authorization": None, "query": None}}


def sealed_secrets(tenant: str = FRIEND, response_id: str = "resp_1") -> str:
    return seal_tool_secrets(SECRETS, tenant_id=tenant, response_id=response_id)


def test_the_secrets_of_tools_open_for_their_tenant_and_their_response_alone() -> None:
    text = sealed_secrets()
    assert "sk-very-secret" not in base64.urlsafe_b64decode(text + "==").decode("latin-1")
    assert open_tool_secrets(text, tenant_id=FRIEND, response_id="resp_1") == SECRETS
    for tenant, response_id in ((STRANGER, "resp_1"), (FRIEND, "resp_2")):
        with pytest.raises(SealError):
            open_tool_secrets(text, tenant_id=tenant, response_id=response_id)
    assert not opens(text)
    with pytest.raises(SealError):
        open_tool_secrets(sealed(), tenant_id=FRIEND, response_id="resp_1")


def test_secrets_of_tools_whose_key_is_gone_are_told_of_clearly(settings: Settings) -> None:
    settings.SEAL_KEYS = (key(),)
    tools = [{"type": "mcp", "server_label": "docs", "server_url": "https://mcp.example"}]
    job = replace(make_job(tools=tools), tenant_id=FRIEND, sealed_secrets=sealed_secrets())
    assert opened_secrets(job) == {0: SECRETS["docs"]}
    settings.SEAL_KEYS = (key(),)
    with pytest.raises(ProtocolError) as refused:
        opened_secrets(job)
    assert (refused.value.status, refused.value.code) == (500, "tool_secrets_unreadable")
    assert "ANTIPHON_SEAL_KEYS" in refused.value.message
    assert opened_secrets(replace(job, sealed_secrets=None)) == {}
