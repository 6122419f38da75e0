"""A run's folder: whole or not at all, and read back as it was."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import muster
from muster.errors import BadData
from muster.store.folder import new_folder, plain, write_json
from muster.store.parquet import read_table, write_table
from tests.populations import rows_of

FILES = {
    "run.toml", "manifest.json", "tallies.parquet", "estimates.parquet", "units.parquet", "verdicts.json",
    "events.jsonl", "report.md", "report.json",
}  # fmt: skip


@pytest.fixture
def run(rng: np.random.Generator) -> muster.Run:
    given = rows_of(rng, rows=300, moments=2)
    return muster.evaluate(
        truth=given["truth"],
        scores=given["scores"],
        unit=given["unit"],
        time=given["time"],
        slices={"age": given["group"]},
        draws=50,
        seed=7,
        model="champion",
    )


def test_the_folder_holds_what_it_promises(run: muster.Run, tmp_path: Path) -> None:
    report = run.report(tmp_path / "run")
    asked = tomllib.loads((tmp_path / "run" / "run.toml").read_text(encoding="utf-8"))
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))

    assert {file.name for file in (tmp_path / "run").iterdir()} == {*FILES, "report.html", "tables"}
    assert report.name == "report.html"
    text = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# Evaluation of champion\n")
    assert (asked["study"]["seed"], asked["study"]["draws"], asked["study"]["model"]) == (7, 50, "champion")
    assert asked["data"]["arrays"] == ["scores", "slices", "time", "truth", "unit"]
    assert (manifest["seed"], manifest["rows"], manifest["classes"]) == (7, 300, ["0", "1", "2"])
    assert set(manifest["versions"]) >= {"python", "numpy", "scipy", "duckdb"}
    assert set(manifest["seconds"]) == {"open", "count", "check", "analyse"}
    assert len(manifest["data"]["arrays"]) == 64


def test_a_run_read_back_says_the_same(run: muster.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run")
    back = muster.load(tmp_path / "run")

    assert back.status == run.status
    assert plain(back.as_data()) == plain(run.as_data())
    assert back.asked["study"] == {k: v for k, v in run.asked["study"].items() if v is not None}
    for table in ("estimates", "units"):
        ours, theirs = getattr(run, table), getattr(back, table)
        for name, column in ours.columns.items():
            if column.dtype.kind == "f":
                np.testing.assert_array_equal(theirs[name], column, err_msg=name)
            else:
                assert theirs[name].tolist() == column.tolist(), name
    assert {stat: float(t.total.sum()) for stat, t in back.tallies.tallies.items()} == pytest.approx(
        {stat: float(t.total.sum()) for stat, t in run.tallies.tallies.items()}
    )


def test_the_same_data_and_seed_give_the_same_bytes(rng: np.random.Generator, tmp_path: Path) -> None:
    given = rows_of(rng)
    for name in ("a", "b"):
        muster.evaluate(truth=given["truth"], scores=given["scores"], unit=given["unit"], draws=80).save(
            tmp_path / name
        )
    for file in ("estimates.parquet", "units.parquet", "tallies.parquet", "verdicts.json", "report.md"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file


def test_a_folder_that_is_there_is_kept_unless_told_otherwise(run: muster.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run")
    with pytest.raises(BadData, match="is there already; choose another name, or overwrite it"):
        run.save(tmp_path / "run")
    run.save(tmp_path / "run", overwrite=True)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("all of it", encoding="utf-8")
    with pytest.raises(BadData, match="is there already; it is not a run"):
        run.save(tmp_path / "precious", overwrite=True)

    assert sorted(file.name for file in tmp_path.iterdir()) == ["precious", "run"]


def test_a_folder_that_holds_more_than_a_run_is_never_replaced(run: muster.Run, tmp_path: Path) -> None:
    for name, held in (("other", ["manifest.json", "data.csv"]), ("run", ["notes.txt"])):
        if name == "run":
            run.save(tmp_path / name)
        for file in held:
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / file).write_text("{}", encoding="utf-8")
        with pytest.raises(BadData, match="it is not a run, or holds other files too"):
            run.save(tmp_path / name, overwrite=True)
        assert (tmp_path / name / held[-1]).exists()


def test_a_name_with_a_control_character_comes_back(tmp_path: Path) -> None:
    muster.evaluate(truth=[0, 1], guess=[0, 1], model='a\x7f"\n\u2028b', draws=0).save(tmp_path / "run")

    assert muster.load(tmp_path / "run").asked["study"]["model"] == 'a\x7f"\n\u2028b'


def _begin(place: Path, stop: type[BaseException]) -> None:
    with new_folder(place) as folder:
        (folder / "a.txt").write_text("begun", encoding="utf-8")
        raise stop


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError, OSError])
def test_nothing_half_written_is_left(stop: type[BaseException], tmp_path: Path) -> None:
    expected = BadData if stop is OSError else stop
    with pytest.raises(expected):
        _begin(tmp_path / "run", stop)

    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_overwriting_keeps_the_former_run(run: muster.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run")
    before = (tmp_path / "run" / "report.json").read_bytes()
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "run", overwrite=True):
        raise KeyboardInterrupt

    assert (tmp_path / "run" / "report.json").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a place that nobody can write to")
def test_a_place_that_cannot_be_written_is_named(run: muster.Run) -> None:
    with pytest.raises(BadData, match=r"/proc/muster-run: cannot be written: .*; nothing was left behind"):
        run.save("/proc/muster-run")


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    """The limit on the size of a file stands for a disk that is full: the kernel refuses the bytes."""
    code = (
        "import resource, sys; import muster\n"
        "y = [0, 1] * 2000\n"
        "run = muster.evaluate(truth=y, guess=y, unit=list(range(2000)) * 2, draws=0)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "try: run.save(sys.argv[1])\n"
        "except muster.BadData as error: print(error)\n"
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "run")], capture_output=True, text=True, check=True
    )

    assert "cannot be written" in done.stdout
    assert "nothing was left behind" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_table_comes_back_as_it_was(tmp_path: Path) -> None:
    table = muster.Table.of({"name": ["a'b", 'q"', ""], "n": [1, 2, 3], "x": [0.1, np.nan, np.inf]})
    write_table(tmp_path / "o'clock.parquet", table)
    back = read_table(tmp_path / "o'clock.parquet")

    assert back["name"].tolist() == table["name"].tolist()
    np.testing.assert_array_equal(back["x"], table["x"])
    assert back["n"].tolist() == [1, 2, 3]


def test_json_holds_no_number_that_json_does_not_know(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"a": np.float64("nan"), "b": [np.inf, np.int64(3)], "c": np.arange(2)})

    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {
        "a": None,
        "b": [None, 3],
        "c": [0, 1],
    }


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("manifest.json", "not a run"),
        ("report.json", "cannot be read"),
        ("tallies.parquet", "cannot be read"),
    ],
)
def test_a_run_with_a_file_missing_says_which(
    broken: str, said: str, run: muster.Run, tmp_path: Path
) -> None:
    run.save(tmp_path / "run")
    (tmp_path / "run" / broken).unlink()
    with pytest.raises(BadData, match=said):
        muster.load(tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"\xff", "not UTF-8"),
        (b"[]", "a run of format None"),
        (b'{"format": 2}', "lacks classes, measures"),
        (b'{"format": 1}', "a run of format 1, .*; evaluate its data again"),
        (b'{"format": 99}', "a run of format 99, .*; a newer Muster wrote it"),
        (b"{", "not JSON"),
    ],
)
def test_a_manifest_that_is_none_says_what_is_wrong(
    text: bytes, said: str, run: muster.Run, tmp_path: Path
) -> None:
    run.save(tmp_path / "run")
    (tmp_path / "run" / "manifest.json").write_bytes(text)
    with pytest.raises(BadData, match=said):
        muster.load(tmp_path / "run")
