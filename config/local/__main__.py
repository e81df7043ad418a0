"""`make run`: everything on one machine, until Ctrl-C."""

import os
import sys

from config.local.environment import Environment
from config.local.errors import LocalError
from config.local.places import ROOT, VAR, lock, private_directory
from config.local.run import Run
from config.local.signals import StopRequested, watch
from config.local.supervisor import say


def main() -> int:
    """Start, watch, stop; the exit code is 0 after a stop that was asked for, 1 after a failure."""
    watch()
    try:
        private_directory(VAR / "log")
        private_directory(VAR / "static")
        private_directory(VAR)
        held = lock(VAR / "run.lock")
        run = Run(Environment.read(ROOT, VAR, os.environ))
    except LocalError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(
            f"{error.filename} cannot be written ({error.strerror}): is this folder yours?", file=sys.stderr
        )
        return 1
    with held:
        return supervise(run)


def supervise(run: Run) -> int:
    """Start the run and look after it; whatever happens, nothing is left behind."""
    try:
        run.start()
        run.supervisor.watch()
    except StopRequested:
        say("\nStopping.")
        return 0
    except LocalError as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    except OSError as error:
        print(f"{error.filename or 'A part'} failed: {error.strerror}.", file=sys.stderr, flush=True)
        return 1
    finally:
        run.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
