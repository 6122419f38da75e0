"""Classifiers that serve many units: clients, sites, groups."""

from muster.suites.classification.calibrate import calibrate
from muster.suites.classification.settings import Settings
from muster.suites.classification.study import evaluate, per_unit

__all__ = ["Settings", "calibrate", "evaluate", "per_unit"]
