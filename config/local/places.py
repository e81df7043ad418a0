"""Where the local runtime keeps things, and who may reach them.

PostgreSQL refuses to run as root. Then it runs as an unprivileged user, who may not be able to reach the
project's folder (a clone under /root). Nothing is opened up for that: what the user must reach by path lies
in a small directory of its own under the system's temporary folder.
"""

import fcntl
import hashlib
import os
import pwd
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TextIO

from config.local.errors import LocalError

ROOT = Path(__file__).resolve().parents[2]
VAR = ROOT / "var"
_LONGEST = 60  # a socket's path ends at 107 bytes, and URLs with it are read by people


def unprivileged_user(data: Path | None = None) -> pwd.struct_passwd | None:
    """Who runs what refuses root: the owner of the data, else `nobody`; None when we are not root."""
    if os.geteuid() != 0:
        return None
    owner = data.stat().st_uid if data is not None and data.exists() else 0
    try:
        return pwd.getpwuid(owner) if owner else pwd.getpwnam("nobody")
    except KeyError:
        raise LocalError(
            "PostgreSQL does not run as root and this machine has no user `nobody`: run as an ordinary user."
        ) from None


def reachable(path: Path, user: pwd.struct_passwd | None) -> bool:
    """Whether a user (None: ourselves) may enter every directory on the way to `path` and `path` itself."""
    if user is None:
        return True
    for step in (path, *path.parents):
        status = step.stat()
        owned = status.st_uid == user.pw_uid
        if not status.st_mode & (stat.S_IXUSR if owned else stat.S_IXOTH):
            return False
    return True


def short_directory(user: pwd.struct_passwd | None, project: Path = ROOT) -> Path:
    """A directory with a short path that `user` can enter and only we can write; the same at every start."""
    digest = hashlib.sha256(os.fsencode(project)).hexdigest()[:8]
    return _own_directory(short_parent(user), f"antiphon-{os.geteuid()}-{digest}")


def short_parent(user: pwd.struct_passwd | None) -> Path:
    """The first temporary folder with a short path that we can write and `user` can enter."""
    for parent in dict.fromkeys((Path(tempfile.gettempdir()), Path("/tmp"), Path("/run"), Path("/var/tmp"))):
        if not (parent.is_dir() and os.access(parent, os.W_OK) and reachable(parent, user)):
            continue
        if len(os.fsencode(parent)) <= _LONGEST:
            return parent
    raise LocalError("No temporary directory with a short path is writable: set TMPDIR to one.")


def _own_directory(parent: Path, name: str) -> Path:
    path = parent / name
    path.mkdir(mode=0o755, exist_ok=True)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        # Somebody else sits on the name: take one that cannot be foreseen.
        path = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent))
    path.chmod(0o755)
    return path


def private_directory(path: Path, user: pwd.struct_passwd | None = None) -> Path:
    """Make a directory (parents too) that only `user` (None: ourselves) may enter."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if user is not None:
        os.chown(path, user.pw_uid, user.pw_gid)
    path.chmod(0o700)
    return path


def write_private(path: Path, text: str) -> None:
    """Write a file that only we may read, in one step: a reader sees the old content or the new."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)


def lock(path: Path) -> TextIO:
    """Hold a file for as long as we run. Raises LocalError when another process holds it."""
    file = path.open("a+", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip()
        file.close()
        raise LocalError(
            f"`make run` is running in this folder already (process {holder}): stop it first."
        ) from None
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file


def copy_programs(source: Path, target: Path) -> Path:
    """Copy a folder of programs anew, without what only compilers need."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("include", "__pycache__"))
    return target
