"""What web, worker and beat of a local run are told, and how long they get to stop."""

from pathlib import Path

from config.local.environment import Environment
from config.local.parts import Parts


def parts(folder: Path, **environment: str) -> Parts:
    return Parts(Environment.read(folder, folder / "var", environment))


def test_who_stops_a_run_does_not_wait_for_long_responses(tmp_path: Path) -> None:
    for program in (parts(tmp_path).worker(), parts(tmp_path).web("127.0.0.1", 8000)):
        assert program.env["ANTIPHON_DRAIN_SECONDS"] == "3"
        assert program.grace == 10


def test_the_users_own_settings_win(tmp_path: Path) -> None:
    told = parts(tmp_path, ANTIPHON_DRAIN_SECONDS="7", LOG_LEVEL="DEBUG")
    assert told.worker().env["ANTIPHON_DRAIN_SECONDS"] == "7"
    assert told.beat().env["LOG_LEVEL"] == "DEBUG"


def test_beat_logs_no_line_for_each_of_its_ticks(tmp_path: Path) -> None:
    assert parts(tmp_path).beat().env["LOG_LEVEL"] == "WARNING"
    assert "LOG_LEVEL" not in parts(tmp_path).worker().env
