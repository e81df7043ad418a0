"""`manage.py reseal_backends`: seal the stored keys of backends under the newest of `ANTIPHON_SEAL_KEYS`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from responses_api.services.backend_keys import reseal


class Command(BaseCommand):
    """Seal every stored key anew, so that an older seal key may go."""

    help = "Seal the stored keys of backends under the first of ANTIPHON_SEAL_KEYS, before an older one is taken out."

    def handle(self, *_: Any, **__: Any) -> None:
        """Seal them, and say whose is lost. Raises `CommandError` where any is."""
        done = reseal()
        self.stdout.write(f"Sealed anew: {', '.join(done.anew) or 'nothing'}")
        if done.lost:
            raise CommandError(
                f"The keys of these backends do not open any more; give them again: {', '.join(done.lost)}"
            )
