"""Classifiers that serve many units: clients, sites, groups."""

from muster.suites.classification.calibrate import calibrate
from muster.suites.classification.compare import compare
from muster.suites.classification.gate import Gate, gate
from muster.suites.classification.merge import merge
from muster.suites.classification.settings import Settings, Study
from muster.suites.classification.study import evaluate, per_unit, study

__all__ = [
    "Gate",
    "Settings",
    "Study",
    "calibrate",
    "compare",
    "evaluate",
    "gate",
    "merge",
    "per_unit",
    "study",
]
