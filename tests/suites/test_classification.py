"""The classification suite from end to end: what a run says of populations whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import muster
from muster.errors import BadConfig, BadData, UnknownName
from tests.populations import rows_of


def _population(rng: np.random.Generator, shares: list[float], rows: int | list[int] = 200) -> dict[str, Any]:
    """Units that are right in these shares, two classes."""
    sizes = [rows] * len(shares) if isinstance(rows, int) else rows
    unit = np.repeat([f"u{i:02d}" for i in range(len(shares))], sizes)
    truth = rng.integers(0, 2, unit.size)
    right = rng.random(unit.size) < np.repeat(shares, sizes)
    return {"truth": truth, "guess": np.where(right, truth, 1 - truth), "unit": unit}


def _kinds(run: muster.Run) -> dict[str, str]:
    return {finding.kind: finding.subject for finding in run.findings}


def test_kinds_of_evaluation_are_what_they_are_called(rng: np.random.Generator) -> None:
    given = _population(rng, [0.9, 0.8, 0.6, 0.7, 0.5], [400, 50, 100, 60, 80])
    right, unit = given["truth"] == given["guess"], given["unit"]
    run = muster.evaluate(**given, holdout=["u03"], shared=["u04"], draws=100)
    members = np.isin(unit, ["u00", "u01", "u02"])
    each = [right[unit == name].mean() for name in ("u00", "u01", "u02")]

    assert run.value("accuracy", "per_sample") == pytest.approx(right[members].mean())
    assert run.value("accuracy", "per_unit") == pytest.approx(np.mean(each))
    assert run.value("accuracy", "global") == pytest.approx(right[unit == "u04"].mean())
    assert run.value("accuracy", "holdout_per_sample") == pytest.approx(right[unit == "u03"].mean())
    assert run.value("accuracy", "min") == pytest.approx(min(each))
    assert run.value("accuracy", "p10") == pytest.approx(np.percentile(each, 10))
    assert run.units["unit"].tolist() == ["u00", "u01", "u02"]
    assert run.units["n"].tolist() == [400, 50, 100]


def test_one_bad_unit_is_found_and_named(rng: np.random.Generator) -> None:
    run = muster.evaluate(**_population(rng, [0.85] * 11 + [0.4]))

    assert _kinds(run) == {"one_bad_unit": "u11"}
    assert [(v.subject, v.status.value) for v in run.verdicts if v.summary == "unit"] == [("u11", "breach")]
    assert run.units.worst(1)["finding"].tolist() == ["under-served"]
    assert run.status.value == "breach"


def test_equal_units_are_equal_within_noise(rng: np.random.Generator) -> None:
    run = muster.evaluate(**_population(rng, [0.8] * 20, 60))

    assert _kinds(run) == {"equal_within_noise": "population"}
    assert run.status.value in {"ok", "unknown"}
    assert run.estimate("accuracy", "gap").p_value > 0.05


def test_uneven_units_are_told_from_one_bad_unit(rng: np.random.Generator) -> None:
    assert "uneven" in _kinds(muster.evaluate(**_population(rng, list(np.linspace(0.6, 0.95, 12)), 300)))


def test_small_units_that_fare_worse_are_found(rng: np.random.Generator) -> None:
    sizes = [40, 50, 60, 80, 100, 150, 200, 300, 400, 600, 800, 900]
    run = muster.evaluate(**_population(rng, list(np.linspace(0.55, 0.95, 12)), sizes))

    assert "small_units" in _kinds(run)


def test_a_difficult_slice_and_a_difficult_class_are_found(rng: np.random.Generator) -> None:
    unit, truth = np.repeat(np.arange(8), 200), rng.integers(0, 3, 1600)
    night = rng.random(1600) < 0.3
    hard = night | (truth == 2)
    guess = np.where(rng.random(1600) < np.where(hard, 0.6, 0.95), truth, (truth + 1) % 3)
    run = muster.evaluate(
        truth=truth, guess=guess, unit=unit, slices={"light": np.where(night, "night", "day")}, draws=50
    )

    assert _kinds(run)["difficult_slice"] == "light=night"
    assert _kinds(run)["difficult_class"] == "class 2"


def test_noise_alone_is_hardly_ever_a_breach_or_a_named_unit(rng: np.random.Generator) -> None:
    """Equal populations, a hundred of them: at 5 % for each question, a few may err."""
    runs = [muster.evaluate(**_population(rng, [0.8] * 10, 50), draws=200) for _ in range(100)]

    assert sum(run.status.value == "breach" for run in runs) <= 2
    assert sum("equal_within_noise" not in _kinds(run) for run in runs) <= 11
    assert sum("under-served" in run.units["finding"].tolist() for run in runs) <= 2


def test_too_little_evidence_is_unknown(rng: np.random.Generator) -> None:
    run = muster.evaluate(**_population(rng, [0.9, 0.6], 20))
    of = {verdict.summary: verdict for verdict in run.verdicts}

    assert of["gini"].status.value == "unknown"
    assert of["gini"].why == "2 units, 5 needed"


@pytest.mark.parametrize(
    ("truth", "guess", "unit"),
    [
        ([0, 1, 1, 0], [1, 0, 0, 1], ["a", "a", "b", "b"]),
        ([0, 1, 1, 0], [0, 1, 1, 0], ["a", "a", "b", "b"]),
        ([0, 1, 1], [0, 1, 0], ["a", "a", "a"]),
        ([0, 0, 0], [0, 0, 0], ["a", "b", "c"]),
        ([0], [0], ["a"]),
        ([0, 1, 2, 2], [0, 1, 2, 0], ["a", "b", "b", "b"]),
    ],
    ids=["all wrong", "all right", "one unit", "one class", "one row", "a unit with one row"],
)
def test_degenerate_populations_are_described_and_saved(
    truth: list[int], guess: list[int], unit: list[str], tmp_path: Any
) -> None:
    scores = np.eye(3)[guess]
    run = muster.evaluate(truth=truth, scores=scores, unit=unit, slices={"s": unit}, draws=30)
    run.save(tmp_path / "run")
    right = np.mean(np.array(truth) == np.array(guess))

    assert run.value("accuracy") == right
    assert run.status.value in {"unknown", "breach"}
    for row in run.estimates.rows():
        assert (row["value"] != row["value"]) == bool(row["reason"]), row
    assert muster.load(tmp_path / "run").status is run.status
    page = run.figures(tmp_path / "run").read_text(encoding="utf-8")
    assert page.count("<figure data-chart=") == sum(len(section.charts) for section in run.sections)


def test_constant_scores_are_at_chance() -> None:
    truth = np.tile([0, 1, 2, 3], 50)
    run = muster.evaluate(
        truth=truth, scores=np.full((200, 4), 0.25), unit=np.repeat(np.arange(5), 40), draws=50
    )

    assert run.value("auroc") == 0.5
    assert run.value("accuracy") == 0.25
    assert run.value("ece") == 0
    assert "at_chance" in _kinds(run)


def test_group_fairness_is_given_pooled_and_for_every_unit(rng: np.random.Generator) -> None:
    given = _population(rng, [0.8] * 4, 300)
    gender = rng.choice(["f", "m"], 1200)
    given["guess"] = np.where((gender == "f") & (rng.random(1200) < 0.5), 0, given["guess"])
    run = muster.evaluate(**given, slices={"gender": gender}, positive=1)
    found = run.estimates.where(run.estimates["summary"] == "equal_opportunity_difference")
    pooled = found.where(found["unit"] == "")

    assert sorted(found["unit"].tolist()) == ["", "u00", "u01", "u02", "u03"]
    assert pooled["value"][0] > 0.25
    assert pooled["low"][0] > pooled["expected"][0]
    assert pooled["p_value"][0] < 0.01
    assert any("given most unevenly by gender, 0." in section.lead for section in run.sections)


def test_verdicts_are_of_the_last_time_and_the_trend_of_all(rng: np.random.Generator) -> None:
    early, late = _population(rng, [0.9] * 6), _population(rng, [0.6] * 6)
    both = {name: np.concatenate([early[name], late[name]]) for name in early}
    run = muster.evaluate(**both, time=np.repeat([1, 2], 1200), draws=50)
    accuracy = run.estimates["measure"] == "accuracy"
    pooled = run.estimates.where(accuracy & (run.estimates["summary"] == "per_sample"))

    assert pooled["time"].tolist() == [1, 2]
    assert pooled["value"].tolist() == pytest.approx([0.9, 0.6], abs=0.04)
    assert run.value("accuracy") == pooled["value"][1]
    assert any(section.title == "Since when?" for section in run.sections)


def test_spreads_of_other_measures_than_accuracy(rng: np.random.Generator) -> None:
    given = rows_of(rng, rows=900)
    parts = {name: given[name] for name in ("truth", "scores", "unit")}
    run = muster.evaluate(**parts, spread_of=["macro_f1", "auroc"], draws=100)

    assert 0 < run.value("macro_f1", "gap") < 1
    assert (
        run.estimate("auroc", "gini").low <= run.value("auroc", "gini") <= run.estimate("auroc", "gini").high
    )
    with pytest.raises(BadConfig, match="not by log_loss"):
        muster.evaluate(**parts, spread_of=["log_loss"])


@pytest.mark.parametrize("units", ["sampled", "fixed"])
def test_an_interval_of_the_spread_holds_its_value(units: str, rng: np.random.Generator) -> None:
    run = muster.evaluate(**_population(rng, list(rng.beta(8, 2, 30))), units=units)
    for found in (
        run.estimate("accuracy", name) for name in ("gini", "jain", "gap", "std_ddof1", "worst_tenth")
    ):
        assert found.low <= found.value <= found.high
        assert found.method == f"bootstrap of {'units and ' if units == 'sampled' else ''}items, less noise"


def test_the_interval_of_gini_covers_the_truth_of_the_population_it_was_drawn_from(
    rng: np.random.Generator,
) -> None:
    """Units of true share Beta(16, 4), whose Gini index is known from a very large sample."""
    large = np.sort(rng.beta(16, 4, 200_000))
    truth = muster.kernels.inequality.gini(large)
    held = 0
    for _ in range(60):
        run = muster.evaluate(
            **_population(rng, list(rng.beta(16, 4, 40)), 100), draws=200, measures=["accuracy"]
        )
        found = run.estimate("accuracy", "gini")
        held += found.low <= truth <= found.high

    assert held >= 51


def test_merging_runs_is_one_run_over_all_rows(rng: np.random.Generator, tmp_path: Any) -> None:
    given = rows_of(rng, rows=600, units=6)
    parts = {name: given[name] for name in ("truth", "scores", "unit")}
    half = np.isin(given["unit"], ["unit-0", "unit-1", "unit-2"])
    runs = [muster.evaluate(**{n: v[rows] for n, v in parts.items()}, draws=50) for rows in (half, ~half)]
    runs[1].save(tmp_path / "b")
    merged, whole = muster.merge([runs[0], tmp_path / "b"]), muster.evaluate(**parts, draws=50)

    np.testing.assert_allclose(merged.estimates["value"], whole.estimates["value"], atol=1e-9, equal_nan=True)
    assert [verdict.status for verdict in merged.verdicts] == [verdict.status for verdict in whole.verdicts]
    assert merged.manifest["rows"] == 600


def test_merging_what_does_not_fit_or_the_same_twice_is_said(rng: np.random.Generator) -> None:
    given = rows_of(rng)
    a = muster.evaluate(truth=given["truth"], guess=given["guess"], draws=0)
    b = muster.evaluate(truth=given["truth"], guess=given["guess"], measures=["accuracy"], draws=0)
    with pytest.raises(BadData, match="other measures"):
        muster.merge([a, b])

    assert "counted in more than one" in str(muster.merge([a, a]).manifest["notes"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"draw": 5}, r"unknown key 'draw'; did you mean 'draws'\?"),
        ({"draws": -1}, "draws: .*greater than or equal to 0"),
        ({"level": 1.5, "seed": "x"}, "2 problems"),
        ({"holdout": ["u9"]}, "no unit 'u9'; did you mean 'u09'"),
        ({"positive": 7}, r"positive: no class '7'.*the classes are 0, 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    settings: dict[str, Any], said: str, rng: np.random.Generator
) -> None:
    given = _population(rng, [0.8] * 10, 20)
    with pytest.raises(BadConfig, match=said):
        muster.evaluate(**given, slices={"s": given["unit"]}, **settings)


def test_an_unknown_measure_names_the_near_one() -> None:
    with pytest.raises(UnknownName, match="did you mean 'macro_f1'"):
        muster.evaluate(truth=[0, 1], guess=[0, 1], measures=["macro-f1"])


def test_a_table_of_units_goes_into_other_libraries(rng: np.random.Generator) -> None:
    import pandas as pd
    import polars as pl

    run = muster.evaluate(**_population(rng, [0.8] * 5), draws=0)

    assert pd.DataFrame(dict(run.units.columns)).shape == pl.DataFrame(dict(run.units.columns)).shape


def test_merging_keeps_who_was_expected_and_spells_times_alike(rng: np.random.Generator) -> None:
    given = _population(rng, [0.8] * 4, 50)
    parts = {name: given[name] for name in ("truth", "guess", "unit")}
    a = muster.evaluate(**parts, time=[1, 2] * 100, draws=0)
    b = muster.evaluate(**parts, time=[2.0, 2.5] * 100, expect=["z"], draws=0)
    c = muster.evaluate(**parts, time=["2", "3"] * 100, draws=0)
    for runs, times in (([a, b], [1, 2, 2.5]), ([a, c], ["1", "2", "3"]), ([b, c], ["2", "2.5", "3"])):
        merged = muster.merge(runs)
        found = merged.estimates
        pooled = found.where((found["summary"] == "per_sample") & (found["measure"] == "accuracy"))

        assert pooled["time"].tolist() == times
        assert ("z" in merged.units["unit"].tolist()) == (b in runs)


def test_one_group_alone_is_not_treated_alike(rng: np.random.Generator) -> None:
    given = _population(rng, [0.8] * 4, 50)
    run = muster.evaluate(**given, slices={"sex": ["f"] * 200}, draws=50)
    (lead,) = (section.lead for section in run.sections if section.title == "Are groups treated alike?")

    assert lead.endswith("By sex this is undefined: fewer than two groups.")
