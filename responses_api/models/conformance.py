"""What the scenarios of the conformance suite found, route by route."""

from typing import Final

from django.db import models
from django.db.models.functions import Now

OCCASIONS: Final = (
    ("command", "manage.py conformance"),
    ("asked", "asked for in the admin"),
    ("schedule", "on schedule"),
)

# As `conformance/judging.py` tells them; a test holds the two together.
ENDS: Final = (
    ("passed", "passed"),
    ("failed", "failed"),
    ("inconclusive", "inconclusive"),
    ("not supported", "not supported"),
)


class ConformanceRun(models.Model):
    """The scenarios, played once against one model at one backend. The operator's: it belongs to no tenant.

    Names are kept, not rows: what was found stays when a backend goes.
    """

    model = models.CharField(max_length=200)
    backend = models.CharField(max_length=64)
    kind = models.CharField(max_length=32)
    upstream_model = models.CharField(max_length=200)
    occasion = models.CharField(max_length=16, choices=OCCASIONS)
    started_at = models.DateTimeField(db_default=Now())
    seconds = models.FloatField(default=0, db_default=0)
    problem = models.TextField(
        blank=True, default="", db_default="", help_text="Why nothing was played; empty where it was."
    )

    class Meta:
        ordering = ("-started_at", "-id")
        indexes = (models.Index(fields=("model", "backend", "-started_at", "-id"), name="run_by_route"),)

    def __str__(self) -> str:
        return f"{self.model} → {self.backend}"


class ConformanceResult(models.Model):
    """How one scenario of a run ended. `exchange` is `conformance.exchange.Exchange.to_plain()`, where there is one."""

    run = models.ForeignKey(ConformanceRun, on_delete=models.CASCADE, related_name="results")
    position = models.PositiveSmallIntegerField()
    scenario = models.CharField(max_length=64)
    end = models.CharField(max_length=16, choices=ENDS)
    sentence = models.TextField()
    seconds = models.FloatField()
    exchange = models.JSONField(null=True)

    class Meta:
        ordering = ("position",)
        constraints = (models.UniqueConstraint(fields=("run", "scenario"), name="result_once_per_scenario"),)

    def __str__(self) -> str:
        return f"{self.scenario}: {self.end}"
