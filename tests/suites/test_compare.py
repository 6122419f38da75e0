"""Comparison of two runs whose difference is known; gates and cards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import muster
from muster.errors import BadConfig, BadData
from muster.verdicts.gates import Rule, decide

UNITS, ROWS = 12, 150


def _data(rng: np.random.Generator) -> dict[str, Any]:
    n = UNITS * ROWS
    return {
        "unit": np.repeat([f"site-{i:02d}" for i in range(UNITS)], ROWS),
        "truth": rng.integers(0, 3, n),
        "item": np.arange(n),
        "group": rng.choice(["f", "m"], n),
    }


def _guess(data: dict[str, Any], share: Any, rng: np.random.Generator, first: Any = None) -> Any:
    """Right in a share of the rows; with `first`, the same answers but where the shares differ."""
    draw = rng.random(len(data["truth"])) if first is None else first
    return np.where(draw < share, data["truth"], (data["truth"] + 1) % 3)


def _run(data: dict[str, Any], guess: Any, model: str, **how: Any) -> muster.Run:
    kept = {name: data[name] for name in ("unit", "truth", "item")}
    return muster.evaluate(
        **{**kept, **how}, guess=guess, slices={"group": data["group"]}, model=model, draws=50
    )


@pytest.fixture
def two(rng: np.random.Generator) -> tuple[muster.Run, muster.Run]:
    """A challenger that is better by 5 points everywhere, and much worse at one site."""
    data, draw = _data(rng), rng.random(UNITS * ROWS)
    share = np.where(data["unit"] == "site-03", 0.5, 0.85)
    return _run(data, _guess(data, 0.8, rng, draw), "old"), _run(data, _guess(data, share, rng, draw), "new")


def test_the_difference_is_that_of_the_runs_and_who_is_hurt_is_named(
    two: tuple[muster.Run, muster.Run],
) -> None:
    a, b = two
    found = muster.compare(a, b)
    units = {row["unit"]: row for row in found.units.rows()}

    for measure in ("accuracy", "macro_f1", "kappa"):
        assert found.value(measure, "difference") == pytest.approx(b.value(measure) - a.value(measure))
    assert found.value("accuracy", "min") == pytest.approx(
        b.value("accuracy", "min") - a.value("accuracy", "min")
    )
    assert [name for name, row in units.items() if row["said"] == "worse"] == ["site-03"]
    assert "Hurt most: site-03" in found.sections[1].lead
    assert found.verdicts[1].status.value == "watch"
    assert found.verdicts[1].why == "1 of 12 units are worse off beyond noise: site-03"
    assert found.estimate("accuracy", "difference").method == "paired bootstrap of units"
    assert found.estimate("accuracy", "min").method == "bootstrap of items, less noise"
    assert found.estimate("accuracy", "min").high < 0


def test_items_make_small_changes_visible(rng: np.random.Generator) -> None:
    """Two points more, the same answers else: seen by item, lost in noise without."""
    data, draw = _data(rng), rng.random(UNITS * ROWS)
    guesses = [_guess(data, share, rng, draw) for share in (0.8, 0.82)]
    named = [_run(data, guess, name) for guess, name in zip(guesses, ("old", "new"), strict=True)]
    bare = [_run(data, guess, name, item=None) for guess, name in zip(guesses, ("old", "new"), strict=True)]
    with_items = muster.compare(*named, units="fixed").estimate("accuracy", "difference")
    without = muster.compare(*bare, units="fixed")

    assert with_items.method == "paired bootstrap of items"
    assert with_items.low > 0
    assert np.isnan(without.estimate("accuracy", "difference").low)
    assert "Not paired by item" in without.sections[0].callouts[0].text
    assert "Whether that is more than chance is not known" in without.sections[0].lead
    assert without.verdicts[0].status.value == "unknown"


def test_pairing_does_not_depend_on_the_order_of_rows(rng: np.random.Generator, tmp_path: Path) -> None:
    data, draw = _data(rng), rng.random(UNITS * ROWS)
    guesses = [_guess(data, share, rng, draw) for share in (0.8, 0.83)]
    a, b = (_run(data, guess, "m") for guess in guesses)
    order = rng.permutation(UNITS * ROWS)
    frame = pl.DataFrame({**data, "guess": guesses[1]})[order]
    frame.write_parquet(tmp_path / "b.parquet")
    named = {
        "truth": "truth",
        "guess": "guess",
        "unit": "unit",
        "item": "item",
        "slices": ["group"],
        "draws": 50,
    }
    for given in (frame, tmp_path / "b.parquet"):
        other = muster.evaluate(given, **named)
        assert muster.compare(a, other).units["p"].tolist() == muster.compare(a, b).units["p"].tolist()


def test_nothing_changed_is_a_result(two: tuple[muster.Run, muster.Run]) -> None:
    a, _ = two
    found = muster.compare(a, a)

    assert found.value("accuracy", "difference") == 0
    assert "Nothing is shown to have changed" in found.sections[0].lead
    assert set(found.units["said"].tolist()) == {"the same"}
    assert found.verdicts[0].status.value == "ok"
    assert found.verdicts[1].status.value == "unknown"


def test_equal_models_are_hardly_ever_told_apart(rng: np.random.Generator) -> None:
    """At 5 %, three times in sixty on the mean; the bootstrap of a dozen units is a little short."""
    told = 0
    for _ in range(60):
        data = _data(rng)
        a, b = (_run(data, _guess(data, 0.8, rng), name, measures=["accuracy"]) for name in "ab")
        told += muster.compare(a, b, draws=400).estimate("accuracy", "difference").p_value < 0.05

    assert told <= 9


def test_a_run_that_is_saved_compares_like_one_that_is_not(
    two: tuple[muster.Run, muster.Run], tmp_path: Path
) -> None:
    for name, run in zip("ab", two, strict=True):
        run.save(tmp_path / name)
    found, again = muster.compare(*two), muster.compare(tmp_path / "a", tmp_path / "b")
    again.report(tmp_path / "c")
    back = muster.load(tmp_path / "c")

    np.testing.assert_array_equal(found.estimates["value"], again.estimates["value"])
    assert back.verdicts == again.verdicts
    with pytest.raises(BadData, match="is a comparison: give the runs that it compared"):
        muster.compare(back, again)


def test_repeated_runs_have_an_interval_over_them(rng: np.random.Generator) -> None:
    data = _data(rng)
    olds, news = (
        [_run(data, _guess(data, share, rng), n) for _ in range(4)] for n, share in (("o", 0.8), ("n", 0.85))
    )
    found = muster.compare(olds, news)
    (section,) = (s for s in found.sections if s.title == "Does it hold over repeated runs?")
    apart = [b.value("accuracy") - a.value("accuracy") for a, b in zip(olds, news, strict=True)]
    _, mean, (_, high) = section.grids[0].rows[0]

    assert mean == pytest.approx(np.mean(apart))
    assert high - mean == pytest.approx(3.182446 * np.std(apart, ddof=1) / 2, rel=1e-5)
    assert "a claim needs 5" in section.callouts[0].text
    with pytest.raises(BadData, match="4 runs cannot be paired with 3"):
        muster.compare(olds, news[:3])


def test_runs_that_share_nothing_are_refused(two: tuple[muster.Run, muster.Run]) -> None:
    a, _ = two
    other = muster.evaluate(truth=[0, 1, 2] * 9, guess=[0, 1, 2] * 9, unit=["x"] * 27, draws=0)
    later = muster.evaluate(truth=[0, 1, 2] * 9, guess=[0, 1, 2] * 9, time=[7] * 27, draws=0)
    binary = muster.evaluate(truth=[0, 1], guess=[0, 1], draws=0)
    for run, said in ((other, "share no unit"), (later, "share no time"), (binary, "has other classes")):
        with pytest.raises(BadData, match=said):
            muster.compare(a, run)


def test_units_of_one_run_alone_are_left_out_and_said(
    two: tuple[muster.Run, muster.Run], rng: np.random.Generator
) -> None:
    a, _ = two
    data = _data(rng)
    some = {name: column[: 10 * ROWS] for name, column in data.items()}
    found = muster.compare(a, _run(some, _guess(some, 0.8, rng), "new"))

    assert len(found.units) == 10
    assert "2 units are in the first run alone and 0 in the second" in found.sections[0].callouts[0].text


@pytest.mark.parametrize(
    ("rule", "low", "high", "said"),
    [
        ({"kind": "at_least", "value": 0.8}, 0.81, 0.9, "pass"),
        ({"kind": "at_least", "value": 0.8}, 0.7, 0.79, "fail"),
        ({"kind": "at_least", "value": 0.8}, 0.7, 0.9, "inconclusive"),
        ({"kind": "at_most", "value": 0.2}, 0.1, 0.2, "pass"),
        ({"kind": "at_most", "value": 0.2}, 0.21, 0.3, "fail"),
        ({"kind": "non_inferior", "margin": 0.02}, -0.01, 0.05, "pass"),
        ({"kind": "non_inferior", "margin": 0.02}, -0.05, -0.03, "fail"),
        ({"kind": "non_inferior", "margin": 0.02}, -0.05, 0.05, "inconclusive"),
        ({"kind": "non_inferior", "margin": 0.02, "measure": "log_loss"}, -0.3, 0.01, "pass"),
        ({"kind": "non_inferior", "margin": 0.02, "measure": "log_loss"}, 0.03, 0.1, "fail"),
        ({"kind": "non_inferior", "margin": 0.02, "direction": "lower"}, 0.03, 0.1, "fail"),
        ({"kind": "superior", "margin": 0.01}, 0.02, 0.05, "pass"),
        ({"kind": "superior", "margin": 0.0}, 0.0, 0.0, "fail"),
        ({"kind": "non_inferior", "margin": 0.02, "summary": "gini"}, 0.07, 0.12, "fail"),
        ({"kind": "non_inferior", "margin": 0.02, "summary": "gini"}, -0.12, -0.07, "pass"),
        ({"kind": "superior", "margin": 0.02, "summary": "gap"}, -0.12, -0.07, "pass"),
        ({"kind": "non_inferior", "margin": 0.02, "summary": "worst_tenth"}, -0.12, -0.07, "fail"),
        ({"kind": "non_inferior", "margin": 0.02, "summary": "jain"}, -0.12, -0.07, "fail"),
        ({"kind": "superior", "margin": 0.01}, 0.005, 0.05, "inconclusive"),
        ({"kind": "at_least", "value": 0.1, "min_units": 9}, 0.5, 0.6, "inconclusive"),
        ({"kind": "at_least", "value": 0.1}, float("nan"), float("nan"), "inconclusive"),
    ],
)
def test_a_rule_has_three_answers(rule: dict[str, Any], low: float, high: float, said: str) -> None:
    seen = muster.Estimate(
        measure="accuracy",
        summary="x",
        value=0.5 if np.isnan(low) else (low + high) / 2,
        low=low,
        high=high,
        units=8,
    )

    assert decide(Rule(**rule), seen).label == said


def test_a_gate_takes_each_rule_at_its_own_confidence(
    two: tuple[muster.Run, muster.Run], tmp_path: Path
) -> None:
    a, b = two
    (tmp_path / "gates.toml").write_text(
        '[[rule]]\nkind = "at_least"\nvalue = 0.5\nconfidence = 0.8\n'
        '[[rule]]\nsummary = "worst_tenth"\nkind = "at_least"\nvalue = 0.9\n'
        '[[rule]]\nsummary = "min"\nkind = "non_inferior"\nmargin = 0.1\n',
        encoding="utf-8",
    )
    found = muster.gate(b, a, tmp_path / "gates.toml")

    assert [v.label for v in found.verdicts] == ["pass", "fail", "fail"]
    assert [v.estimate.level for v in found.verdicts] == [0.8, 0.95, 0.95]
    assert found.status.value == "breach"
    narrow, wide = found.verdicts[0].estimate, b.estimate("accuracy")
    assert wide.low < narrow.low < narrow.high < wide.high
    with pytest.raises(BadConfig, match="needs another run"):
        muster.gate(b, None, tmp_path / "gates.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[[rule]]\nkind = "at_least"\nmeasure = "acuracy"\nvalue = 0.5\n',
            "no 'acuracy'; did you mean 'accuracy'",
        ),
        ('[[rule]]\nkind = "at_least"\nsummary = "worst_tnth"\nvalue = 0.5\n', "did you mean 'worst_tenth'"),
        ('[[rule]]\nkind = "atleast"\n', "line 2: rule.0..kind|rule.*kind"),
        ('[[rule]]\nkind = "at_least"\n', "at_least needs value, and takes no margin"),
        ('[[rule]]\nkind = "non_inferior"\nvalue = 0.05\n', "non_inferior needs margin, and takes no value"),
        ('[[rule]]\nkind = "at_least"\nvalue = nan\n', "finite number"),
        ("rule = []\n", "at least 1 item"),
    ],
)
def test_rules_that_cannot_be_are_refused(
    text: str, said: str, two: tuple[muster.Run, muster.Run], tmp_path: Path
) -> None:
    (tmp_path / "gates.toml").write_text(text, encoding="utf-8")
    with pytest.raises(BadConfig, match=said):
        muster.gate(two[0], None, tmp_path / "gates.toml")


def test_a_model_that_became_less_even_does_not_pass_a_gate_on_inequality(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    data = _data(rng)
    odd = np.isin(data["unit"], [f"site-{i:02d}" for i in range(0, UNITS, 2)])
    shares = {"even": 0.8, "uneven": np.where(odd, 0.6, 1.0)}
    even, uneven = (_run(data, _guess(data, share, rng), name) for name, share in shares.items())
    rule = '[[rule]]\nsummary = "gini"\nkind = "non_inferior"\nmargin = 0.02\n'
    path = tmp_path / "gini.toml"
    path.write_text(rule, encoding="utf-8")

    assert muster.gate(uneven, even, path).verdicts[0].label == "fail"
    assert muster.gate(even, uneven, path).verdicts[0].label == "pass"


def test_items_that_are_shared_in_part_are_not_paired_and_that_is_said(rng: np.random.Generator) -> None:
    """Few items shared and unchanged, all others worse: the shared ones must not stand for the rest."""
    data = _data(rng)
    a = _run(data, _guess(data, 0.9, rng), "old")
    other = {**data, "item": np.where(data["item"] < 300, data["item"], data["item"] + 10**6)}
    b = _run(other, _guess(data, 0.6, rng), "new")
    found = muster.compare(a, b)

    assert "only 300 items are in both runs" in found.sections[0].callouts[0].text
    assert found.estimate("accuracy", "difference").high < -0.2
    assert set(found.units["said"].tolist()) == {"worse"}


@pytest.mark.parametrize(("units", "rows"), [(3, 400), (6, 200), (12, 100)])
def test_the_interval_of_a_difference_holds_the_truth_of_the_population(
    units: int, rows: int, rng: np.random.Generator
) -> None:
    """Units gain and lose at random, by nothing on the mean."""
    held = passed = 0
    for _ in range(80):
        unit, truth = np.repeat(np.arange(units), rows), rng.integers(0, 2, units * rows)
        gain = rng.normal(0, 0.08, units)[unit]
        runs = [
            muster.evaluate(
                truth=truth, guess=np.where(rng.random(truth.size) < share, truth, 1 - truth), unit=unit,
                item=np.arange(truth.size), measures=["accuracy", "kappa"], draws=0,
            )
            for share in (0.8, 0.8 + gain)
        ]  # fmt: skip
        seen = muster.compare(*runs, draws=300).estimate("accuracy", "difference")
        held += seen.low <= 0 <= seen.high
        passed += decide(Rule(kind="superior", margin=0.0), seen).label == "pass"

    assert held >= 72
    assert passed <= 6


def test_a_handful_of_rows_is_not_certain() -> None:
    truth, unit = [0, 1, 0, 1, 0], list("abcde")
    runs = [muster.evaluate(truth=truth, guess=truth, unit=unit, item=range(5), draws=0) for _ in range(2)]
    seen = muster.compare(*runs).estimate("accuracy", "difference")

    assert seen.low < -0.1
    assert seen.high > 0.1


def test_noise_of_equal_units_is_not_a_change_of_inequality(rng: np.random.Generator) -> None:
    """All units equal, at .70 and at .99: there is less noise in the second, not less inequality."""
    held = 0
    for _ in range(40):
        unit, truth = np.repeat(np.arange(40), 30), rng.integers(0, 2, 1200)
        runs = [
            muster.evaluate(
                truth=truth, guess=np.where(rng.random(1200) < share, truth, 1 - truth), unit=unit, draws=0
            )
            for share in (0.7, 0.99)
        ]
        seen = muster.compare(*runs, draws=200)
        spreads = [seen.estimate("accuracy", name) for name in ("gini", "std_ddof1")]
        held += all(e.low <= 0 <= e.high for e in spreads)

    assert held >= 36


def test_repeated_runs_are_paired_one_by_one(rng: np.random.Generator) -> None:
    """Each pair at the last time that both have, and over the units that both have."""
    data = _data(rng)
    some = {name: column[: 6 * ROWS] for name, column in data.items()}
    early, late = np.repeat([1, 2], UNITS * ROWS // 2), np.ones(UNITS * ROWS, int)
    a = [_run(data, _guess(data, 0.8, rng), "a", time=t) for t in (late, early)]
    b = [
        _run(data, _guess(data, 0.8, rng), "b", time=late),
        _run(some, _guess(some, 0.9, rng), "b", time=late[: 6 * ROWS]),
    ]
    found = muster.compare(a, b)
    (section,) = (s for s in found.sections if s.title == "Does it hold over repeated runs?")
    pairs = [muster.compare(x, y).value("accuracy", "difference") for x, y in zip(a, b, strict=True)]

    assert section.grids[0].rows[0][1] == pytest.approx(np.mean(pairs))


def test_a_comparison_is_no_run_to_merge(two: tuple[muster.Run, muster.Run]) -> None:
    with pytest.raises(BadData, match="is a comparison, which holds no sums"):
        muster.merge([muster.compare(*two, draws=50)])


def test_items_written_1_and_1_0_are_one(rng: np.random.Generator, tmp_path: Path) -> None:
    data = _data(rng)
    frame = pl.DataFrame({**data, "guess": _guess(data, 0.8, rng)})
    runs = []
    for name, kind in (("a", pl.Int64), ("b", pl.Float64)):
        frame.with_columns(pl.col("item").cast(kind)).write_csv(tmp_path / f"{name}.csv")
        runs.append(
            muster.evaluate(
                tmp_path / f"{name}.csv", truth="truth", guess="guess", unit="unit", item="item", draws=0
            )
        )

    assert muster.compare(*runs).sections[0].callouts == ()


def test_without_draws_units_still_have_an_interval(two: tuple[muster.Run, muster.Run]) -> None:
    seen = muster.compare(*two, draws=0)

    assert seen.estimate("accuracy", "difference").low < seen.value("accuracy", "difference")
    assert np.isnan(seen.estimate("accuracy", "gini").low)
    assert seen.estimate("accuracy", "gini").method == "no interval: nothing was redrawn"


def test_merged_runs_keep_their_items(two: tuple[muster.Run, muster.Run]) -> None:
    a, b = two
    merged = [muster.merge([run]) for run in (a, b)]

    assert muster.compare(*merged).units["p"].tolist() == muster.compare(a, b).units["p"].tolist()
    assert muster.compare(*merged).sections[0].callouts == ()
