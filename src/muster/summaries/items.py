"""What is kept of single items, where they are named: enough to compare two models item by item, no more."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from muster.kernels.proper import log_loss
from muster.records import Column, Labelled, Table


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Columns of the blocks seen so far: entry, mark of the item, truth, guess, and log loss or ``nan``."""

    parts: list[tuple[Column, ...]] = field(default_factory=list)

    def keep(self, seen: Labelled) -> None:
        """Copy what is to be kept of a block, which is gone when the next one comes."""
        if seen.item is None:
            return
        loss = np.full(len(seen), np.nan) if seen.scores is None else log_loss(seen.scores, seen.truth)
        columns = (seen.cell, seen.item, seen.truth, seen.guess)
        self.parts.append((*(np.array(column, np.int64) for column in columns), loss))

    def table(self, keys: Table) -> Table | None:
        """One row an item: unit, time, mark, truth, guess, loss; None where items have no names."""
        if not self.parts:
            return None
        cell, item, truth, guess, loss = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        named = {"unit": keys["unit"][cell], "time": keys["time"][cell]}
        return Table({**named, "item": item, "truth": truth, "guess": guess, "loss": loss})
