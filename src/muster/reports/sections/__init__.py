"""Sections that any suite can show: facts about a population, in words and tables."""

from muster.reports.sections import drift, pictures
from muster.reports.sections.groups import groups_section
from muster.reports.sections.over_time import time_section
from muster.reports.sections.scaling import scaling_section
from muster.reports.sections.spread import spread_section
from muster.reports.sections.units import size_note, units_grid, units_lead
from muster.reports.sections.verdicts import callouts, verdicts_section

__all__ = [
    "callouts",
    "drift",
    "groups_section",
    "pictures",
    "scaling_section",
    "size_note",
    "spread_section",
    "time_section",
    "units_grid",
    "units_lead",
    "verdicts_section",
]
