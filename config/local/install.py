"""Makes .venv from the locks given as arguments: `python3 config/local/install.py [--run] requirements.lock ...`.

With `--run` a port in use is told first, and not after a minute of installing.

Runs before anything is installed, under whatever Python there is: standard library only, in a syntax that old
versions parse, so that they can be told that they are too old.
"""

import errno
import fcntl
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import time

OLDEST = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.path.join(ROOT, ".venv")
LOGS = os.path.join(ROOT, "var", "log")

NETWORK_SIGNS = (
    "newconnectionerror",
    "nameresolutionerror",
    "connection broken",
    "timed out",
    "proxyerror",
    "sslerror",
)


class InstallError(Exception):
    """A sentence that tells the user what is wrong and what helps."""


def check_python() -> None:
    """Raise InstallError when this Python is too old or cannot make virtual environments."""
    if sys.version_info < OLDEST:
        found = "{}.{}".format(*sys.version_info[:2])
        raise InstallError(
            f"Antiphon needs Python 3.11 or newer, this is {found}: "
            "name another with `make run PYTHON=python3.12`."
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        raise InstallError(
            "This Python has no venv module: install it (Debian and Ubuntu: `apt install python3-venv`), "
            "or name another Python with `make run PYTHON=...`."
        ) from None


def check_port() -> None:
    """Raise InstallError when the port of `make run` is in use. Whatever else is wrong with it, the run itself says."""
    host, port = os.environ.get("HOST") or "127.0.0.1", os.environ.get("PORT") or "8000"
    # Reading .env takes a package that is not there yet.
    if not port.isdigit() or os.path.exists(os.path.join(ROOT, ".env")):
        return
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except (OSError, OverflowError) as error:
            if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
                raise InstallError(
                    f"Port {port} is in use: `make run PORT={int(port) + 1}` takes another."
                ) from None


def fingerprint(lock: str) -> str:
    """What an installed lock is recognised by: the Python, the place and the lock's content."""
    digest = hashlib.sha256(repr((sys.version_info[:3], VENV)).encode())
    with open(os.path.join(ROOT, lock), "rb") as file:
        digest.update(file.read())
    return digest.hexdigest()


def stamp_path(lock: str) -> str:
    """The file in .venv that remembers the fingerprint of an installed lock."""
    return os.path.join(VENV, "." + os.path.basename(lock) + ".installed")


def is_installed(lock: str) -> bool:
    """Whether .venv holds exactly this lock already."""
    try:
        with open(stamp_path(lock), encoding="ascii") as file:
            return file.read() == fingerprint(lock)
    except FileNotFoundError:
        return False


def run_logged(command: "list[str]", log: str) -> int:
    """Run a command with its output in a log file, and return its exit code."""
    with open(log, "ab") as output:
        return subprocess.call(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=ROOT)


def create_venv(log: str) -> None:
    """Make .venv, anew when it belongs to another version of Python."""
    python = os.path.join(VENV, "bin", "python")
    probe = "import sys, pip; sys.exit(sys.version_info[:2] != {!r})".format(sys.version_info[:2])  # noqa: UP032
    if os.path.exists(python) and run_logged([python, "-c", probe], log) == 0:
        return
    if not os.access(ROOT, os.W_OK):
        raise InstallError(f"{ROOT} cannot be written: run as the user who owns this folder.")
    shutil.rmtree(VENV, ignore_errors=True)
    if run_logged([sys.executable, "-m", "venv", VENV], log) != 0:
        raise InstallError("Python could not make the virtual environment .venv: see " + shown(log) + ".")


def install(lock: str, log: str) -> None:
    """Install one lock as it is pinned: hashes checked, dependencies never resolved again."""
    pip = [os.path.join(VENV, "bin", "python"), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    if run_logged([*pip, "install", "--retries", "2", "--no-deps", "--require-hashes", "-r", lock], log) != 0:
        raise InstallError(explain(log))
    with open(stamp_path(lock), "w", encoding="ascii") as file:
        file.write(fingerprint(lock))


def explain(log: str) -> str:
    """One sentence for a pip that failed, from what it said."""
    with open(log, encoding="utf-8", errors="replace") as file:
        said = file.read()
    if "No space left on device" in said:
        return "The packages could not be installed because the disk is full (see " + shown(log) + ")."
    if any(sign in said.lower() for sign in NETWORK_SIGNS):
        return (
            "The packages could not be fetched because no package index answers: "
            "check the network or pip's index settings, then run again (see " + shown(log) + ")."
        )
    return "The packages could not be installed: see " + shown(log) + "."


def shown(path: str) -> str:
    """A path as the user sees it from the project's folder."""
    return os.path.relpath(path, ROOT)


def main(arguments: "list[str]") -> int:
    """Make .venv hold the locks; prints one line, or one sentence when it cannot."""
    began = time.monotonic()
    locks = [argument for argument in arguments if argument != "--run"]
    log = os.path.join(LOGS, "install.log")
    try:
        check_python()
        if all(is_installed(lock) for lock in locks):
            return 0
        if "--run" in arguments:
            check_port()
        os.makedirs(LOGS, exist_ok=True)
        with open(log, "wb") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)  # a second `make` waits for its turn
            print("venv         installing the pinned packages into .venv", flush=True)
            create_venv(log)
            for lock in locks:
                if not is_installed(lock):
                    install(lock, log)
    except InstallError as error:
        print(error, file=sys.stderr)
        return 1
    except PermissionError as error:
        print(f"{error.filename} cannot be written: run as the user who owns this folder.", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename} cannot be written: {error.strerror}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped while installing; the next run goes on from here.", file=sys.stderr)
        return 130
    print(f"venv         ready ({time.monotonic() - began:.1f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
