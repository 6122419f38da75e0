"""Bands: what stops a verdict, what it is if nothing does, and the steps that published tables name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muster.errors import BadConfig
from muster.records import Estimate
from muster.verdicts.bands import Band, Bands, default_bands, judge, judge_all, load_bands, unmatched
from muster.verdicts.judge import against_chance

BAND = Band(bad="above", watch=0.1, breach=0.2, min_units=5, min_rows=10)
CLEAR: dict[str, Any] = {"units": 10, "expected": 0.02, "p_value": 0.01, "method": "bootstrap"}


def _seen(value: float, low: float, high: float, **facts: Any) -> Estimate:
    return Estimate(
        measure="accuracy", summary="std_ddof1", value=value, low=low, high=high, **{**CLEAR, **facts}
    )


@pytest.mark.parametrize(
    ("seen", "status", "why"),
    [
        (_seen(0.05, 0.02, 0.08, p_value=0.9), "ok", "0.05 [0.02, 0.08] is within watch above 0.1"),
        (_seen(0.1, 0.05, 0.19), "ok", "within"),
        (_seen(0.15, 0.12, 0.18), "watch", "0.15 [0.12, 0.18] is above 0.1"),
        (_seen(0.15, 0.08, 0.19), "watch", "is above 0.1"),
        (_seen(0.25, 0.21, 0.3), "breach", "0.25 [0.21, 0.3] is above 0.2"),
        (_seen(0.25, 0.21, 0.3, expected=0.15), "breach", "is above 0.2"),
        (_seen(0.25, 0.15, 0.3), "watch", "its interval [0.15, 0.3] is not wholly so"),
        (_seen(0.25, 0.05, 0.3), "unknown", "the interval [0.05, 0.3] reaches from ok to breach"),
        (_seen(0.05, 0.02, 0.25), "unknown", "reaches from ok to breach"),
        (_seen(0.15, 0.0, 0.18, p_value=0.3), "unknown", "equal units could show 0.15 with so few rows"),
        (_seen(0.25, 0.21, 0.3, units=4), "unknown", "4 units, 5 needed"),
        (_seen(0.25, 0.21, 0.3, method="not redrawn"), "unknown", "no population was redrawn"),
        (_seen(float("nan"), 0, 0, reason="no unit has a value"), "unknown", "no unit has a value"),
    ],
)
def test_what_is_said_and_why(seen: Estimate, status: str, why: str) -> None:
    verdict = judge(seen, BAND)

    assert verdict.status.value == status
    assert why in verdict.why


def test_few_rows_a_unit_are_not_enough() -> None:
    verdict = judge(_seen(0.25, 0.21, 0.3), BAND, rows=9)

    assert (verdict.status.value, verdict.why) == (
        "unknown",
        "half of the units have 9 rows or fewer, 10 needed",
    )


def test_an_edge_belongs_to_the_milder_side_also_in_floating_point() -> None:
    assert BAND.status(0.1 + 1e-15).value == "ok"
    assert BAND.status(0.853 - 0.833 + 0.18).value == "watch"
    assert Band(bad="below", watch=0.8).status(0.8 - 1e-15).value == "ok"


def test_noise_excuses_a_low_unit_only_where_the_mean_is_within_the_band() -> None:
    bands = Bands({"accuracy": {"min": Band(bad="below", breach=0.7)}})
    low = Estimate(
        measure="accuracy", summary="min", value=0.5, low=0.4, high=0.6, **CLEAR | {"p_value": 0.4}
    )
    for mean, status in ((0.8, "unknown"), (0.6, "breach")):
        level = Estimate(measure="accuracy", summary="mean", value=mean, low=mean, high=mean, **CLEAR)

        assert [v.status.value for v in judge_all([level, low], bands)] == [status]


@pytest.mark.parametrize(
    ("measure", "summary", "value", "label"),
    [
        ("accuracy", "gini", 0.18, "very fair"),
        ("accuracy", "gini", 0.25, "fair"),
        ("accuracy", "gini", 0.371622, "moderate inequality"),
        ("accuracy", "gini", 0.75, "high inequality"),
        ("accuracy", "std_ddof1", 0.0158114, "excellent"),
        ("accuracy", "std_ddof1", 0.2, "poor"),
        ("accuracy", "max_deviation", 0.1, "good"),
        ("accuracy", "jain", 0.98658, "good"),
        ("accuracy", "jain", 0.775758, "warrants investigation"),
        ("accuracy", "cov", 0.3, "substantial dispersion"),
        ("detection", "f1", 0.914286, "excellent"),
        ("detection", "f1", 0.077, "poor"),
        ("recovery", "completeness", 0.8675, "excellent"),
        ("recovery", "quality", 3.615, "good"),
        ("recovery", "rounds", 7, "moderate"),
        ("recovery", "stability", 0.03, "moderate variability"),
    ],
)
def test_the_steps_of_published_tables(measure: str, summary: str, value: float, label: str) -> None:
    band = default_bands().of(measure, summary)

    assert band is not None
    assert band.label(value) == label


def test_own_bands_replace_one_and_keep_the_others(tmp_path: Path) -> None:
    file = tmp_path / "bands.toml"
    file.write_text('[accuracy.gini]\nbad = "above"\nbreach = 0.05\n', encoding="utf-8")
    own = load_bands(file)

    assert own.of("accuracy", "gini") == Band(bad="above", breach=0.05)
    assert own.of("accuracy", "jain") == default_bands().of("accuracy", "jain")
    assert unmatched(file, [("accuracy", "gini_error")]) == [
        "no estimate 'accuracy.gini'; did you mean 'accuracy.gini_error'?"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[accuracy.gini]\nbad = "above"\n', "a band needs watch, breach or both"),
        ('[accuracy.gini]\nbad = "above"\nwatch = 0.4\nbreach = 0.3\n', "must not be milder than watch"),
        ('[accuracy.gini]\nbad = "over"\nwatch = 0.4\n', r"line 2: accuracy.gini.bad: .*'above' or 'below'"),
        (
            '[accuracy.gini]\nbad = "above"\nwach = 0.4\nbreach = 1',
            "line 3: unknown key .*did you mean 'watch'",
        ),
        ("[accuracy.gini\n", "not TOML"),
    ],
)
def test_a_band_that_cannot_be_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "bands.toml").write_text(text, encoding="utf-8")
    with pytest.raises(BadConfig, match=said):
        load_bands(tmp_path / "bands.toml")


@pytest.mark.parametrize(
    ("low", "high", "status"),
    [(0.1, 0.3, "ok"), (-0.01, 0.01, "breach"), (-0.3, -0.1, "breach"), (-0.05, 0.2, "unknown")],
)
def test_a_model_is_better_than_chance_not_better_or_not_known(low: float, high: float, status: str) -> None:
    gain = Estimate(
        measure="accuracy", summary="over_chance", value=(low + high) / 2, low=low, high=high, chance=0.5
    )

    kappa = Estimate(measure="kappa", summary="per_sample", value=0.0, low=-0.1, high=0.1, n=99)

    assert against_chance(gain, kappa).status.value == status
