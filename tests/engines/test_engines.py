"""One test body, every way in: the same rows give the same numbers, whoever holds them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather

import muster
from tests.populations import rows_of

NAMED = {"truth": "y", "scores": "p_*", "unit": "client", "time": "round", "slices": ["age"]}


def _columns(rng: np.random.Generator) -> dict[str, Any]:
    given = rows_of(rng, rows=400, moments=3)
    scores = {f"p_{k}": given["scores"][:, k] for k in range(3)}
    return {
        "client": given["unit"],
        "round": given["time"],
        "age": given["group"],
        "y": given["truth"],
        **scores,
    }


def _hive(columns: dict[str, Any], folder: Path) -> str:
    pl.DataFrame(columns).write_parquet(folder / "parts", partition_by="round", mkdir=True)
    return str(folder / "parts")


def _many(columns: dict[str, Any], folder: Path) -> str:
    frame = pl.DataFrame(columns)
    for i in range(4):
        frame[i::4].write_csv(folder / f"{i}.csv")
    return str(folder / "*.csv")


def _file(write: Callable[[Any, Path], object], name: str) -> Callable[[dict[str, Any], Path], Path]:
    def make(columns: dict[str, Any], folder: Path) -> Path:
        write(pl.DataFrame(columns), folder / name)
        return folder / name

    return make


def _stream(frame: pl.DataFrame, path: Path) -> None:
    table = frame.to_arrow()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def _relation(columns: dict[str, Any], _: Path) -> duckdb.DuckDBPyRelation:
    frame = pl.DataFrame(columns).to_arrow()
    return duckdb.from_arrow(frame)


ENGINES: dict[str, Callable[[dict[str, Any], Path], Any]] = {
    "mapping": lambda columns, _: columns,
    "pandas": lambda columns, _: pd.DataFrame(columns),
    "pandas categorical": lambda columns, _: pd.DataFrame(columns).astype({"client": "category"}),
    "pandas nullable": lambda columns, _: pd.DataFrame(columns).convert_dtypes(),
    "polars": lambda columns, _: pl.DataFrame(columns),
    "polars lazy": lambda columns, _: pl.DataFrame(columns).lazy(),
    "polars categorical": lambda c, _: pl.DataFrame(c).with_columns(pl.col("client").cast(pl.Categorical)),
    "arrow": lambda columns, _: pl.DataFrame(columns).to_arrow(),
    "duckdb": _relation,
    "csv": _file(pl.DataFrame.write_csv, "a.csv"),
    "tsv": _file(lambda frame, path: frame.write_csv(path, separator="\t"), "a.tsv"),
    "parquet": _file(pl.DataFrame.write_parquet, "a.parquet"),
    "arrow file": _file(lambda f, path: f.write_ipc(path, compat_level=pl.CompatLevel.oldest()), "a.arrow"),
    "arrow stream": _file(_stream, "a.arrows"),
    "feather": _file(lambda frame, path: feather.write_feather(frame.to_arrow(), path), "a.feather"),
    "many csv files": _many,
    "hive folder": _hive,
}


@pytest.fixture
def columns(rng: np.random.Generator) -> dict[str, Any]:
    return _columns(rng)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_same_estimates(engine: str, columns: dict[str, Any], tmp_path: Path) -> None:
    scores = np.stack([columns[f"p_{k}"] for k in range(3)], 1)
    arrays = muster.evaluate(
        truth=columns["y"],
        scores=scores,
        unit=columns["client"],
        time=columns["round"],
        slices={"age": columns["age"]},
        draws=50,
    )
    run = muster.evaluate(ENGINES[engine](columns, tmp_path), **NAMED, draws=50)

    assert run.estimates.columns.keys() == arrays.estimates.columns.keys()
    for name, column in arrays.estimates.columns.items():
        if column.dtype.kind == "f":
            np.testing.assert_allclose(run.estimates[name], column, atol=1e-9, equal_nan=True, err_msg=name)
        else:
            assert run.estimates[name].tolist() == column.tolist(), name


def test_files_larger_than_a_block_give_what_arrays_give(
    columns: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pl.concat([pl.DataFrame(columns)] * 800)
    frame.write_parquet(tmp_path / "a.parquet")
    named = {name: value for name, value in NAMED.items() if name != "slices"}
    monkeypatch.setattr("muster.sources.stream.BLOCK", 100_000)
    told: list[int] = []
    measures = ["accuracy", "ece", "log_loss", "auroc"]
    run = muster.evaluate(
        tmp_path / "a.parquet", **named, draws=0, measures=measures, opened=lambda _: told.append
    )
    whole = muster.evaluate(frame, **named, draws=0, measures=measures)

    assert sum(told) == len(frame)
    assert len(told) > 1
    np.testing.assert_allclose(run.estimates["value"], whole.estimates["value"], atol=1e-9, equal_nan=True)
