"""The data model: observations, tallies, estimates, verdicts, sections; one key."""

from muster.records.block import COLUMNS, KEY, Block, Key, grouped, spell, unspell
from muster.records.estimate import Estimate
from muster.records.files import ITEMS, MANIFEST, ROUNDS, is_run
from muster.records.finding import Finding
from muster.records.measure import Better, Bounds, Finish, Measure
from muster.records.observed import Labelled
from muster.records.rounds import ALARM, QUIET, UNKNOWN, Alarms, Answers, Rounds
from muster.records.samples import Features, Nature, Samples
from muster.records.section import Callout, Cell, Field, Grid, Section
from muster.records.table import Column, Table, same, stack, unmasked
from muster.records.tally import Mask, Tallies, Tally, merge
from muster.records.verdict import Status, Verdict

__all__ = [
    "ALARM",
    "COLUMNS",
    "ITEMS",
    "KEY",
    "MANIFEST",
    "QUIET",
    "ROUNDS",
    "UNKNOWN",
    "Alarms",
    "Answers",
    "Better",
    "Block",
    "Bounds",
    "Callout",
    "Cell",
    "Column",
    "Estimate",
    "Features",
    "Field",
    "Finding",
    "Finish",
    "Grid",
    "Key",
    "Labelled",
    "Mask",
    "Measure",
    "Nature",
    "Rounds",
    "Samples",
    "Section",
    "Status",
    "Table",
    "Tallies",
    "Tally",
    "Verdict",
    "grouped",
    "is_run",
    "merge",
    "same",
    "spell",
    "stack",
    "unmasked",
    "unspell",
]
