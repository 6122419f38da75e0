"""Federations over time: drift, detection, mitigation, recovery, fairness in every round."""

from muster.suites.federation.settings import Study
from muster.suites.federation.study import evaluate, simulate, validate

__all__ = ["Study", "evaluate", "simulate", "validate"]
