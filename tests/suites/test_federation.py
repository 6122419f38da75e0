"""The federation suite from end to end: settings refused, runs kept, stopped, gone on with."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import muster
from muster.errors import BadConfig, BadData, MusterError, UnknownName
from muster.reports.run import Run
from muster.sources.config import parse
from muster.store.parquet import write_table
from muster.suites.federation import arms
from muster.suites.federation.analysis import How
from muster.suites.federation.arms import Kept, arms_of, length
from muster.suites.federation.prepare import loaded, places, ready
from muster.suites.federation.settings import Study
from muster.suites.federation.study import Progress, evaluate, simulate, validate

SMALL: dict[str, Any] = {
    "training": {"rounds": 18, "warmup": 4, "epochs": 2},
    "drift": {"drift_round": 13, "severity": 1.0},
    "watch": {"detectors": ["combined", "adwin"], "items": 100, "reference": 10},
    "mitigation": {"mitigation": ["cluster"]},
    "study": {"draws": 40, "seeds": 1},
}


def _asked(**changes: dict[str, Any]) -> dict[str, Any]:
    """The small study, with some keys of some groups changed; None takes a key away."""
    found = {group: dict(keys) for group, keys in SMALL.items()}
    for group, keys in changes.items():
        found[group] = {k: v for k, v in {**found.get(group, {}), **keys}.items() if v is not None}
    return found


@cache
def _run() -> Run:
    return simulate(_asked())


WRONG: dict[str, tuple[str, str]] = {
    "another version": ("version = 2", "settings of version 2, and this Muster reads version 1"),
    "another version and its keys": ("version = 2\nfoo = 1", "settings of version 2, and this Muster reads"),
    "unknown key": ("[training]\nround = 9", "line 2: unknown key 'training.round'; did you mean 'rounds'"),
    "unknown group": ("[trainig]\nrounds = 9", "unknown key 'trainig'; did you mean 'training'"),
    "text for a number": ('[training]\nrounds = "9"', "training.rounds"),
    "no rounds": ("[training]\nrounds = 0", "training.rounds"),
    "severity": ("[drift]\nseverity = 0.0", "drift.severity"),
    "severity above 1": ("[drift]\nseverity = 1.5", "drift.severity"),
    "fraction": ("[training]\nfraction = 0.0", "training.fraction"),
    "few items": ("[watch]\nitems = 20", "watch.items"),
    "short reference": ("[watch]\nreference = 2", "watch.reference"),
    "partition": ('[clients]\npartition = "dirichlett"', "clients.partition"),
    "unused mu": ("[training]\nmu = 0.3", "training.mu is set and not used: only fedprox has it"),
    "unused beta": ('[training]\nbeta = 0.3\n[mitigation]\nmitigation = ["cluster"]', "training.beta"),
    "unused alpha": ('[clients]\npartition = "iid"\nalpha = 0.5', "clients.alpha is set and not used"),
    "unused hidden": ('[training]\nlearner = "softmax"\nhidden = 9', "training.hidden is set and not used"),
    "unused severity": ('[drift]\ndrift = "none"\nseverity = 0.5', "drift.severity is set and not used"),
    "unused second": ("[drift]\nsecond_round = 30", "drift.second_round is set and not used"),
    "unused concepts": ('[drift]\nconcepts = ["noise=1"]', "drift.concepts is set and not used"),
    "unused trigger": ('[mitigation]\nmitigation = ["none"]\ntrigger = "global"', "mitigation.trigger"),
    "unused factor": ('[mitigation]\nmitigation = ["median"]\nfactor = 2.0', "mitigation.factor"),
    "unused items": ("[watch]\ndetectors = []\nitems = 50\n[mitigation]\nmitigation = []", "watch.items"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_settings_that_are_wrong_are_refused(case: str) -> None:
    text, words = WRONG[case]
    with pytest.raises(BadConfig) as said:
        parse(text, Study)
    assert words in str(said.value)


def test_all_that_is_unused_is_said_at_once() -> None:
    text = '[training]\nmu = 0.3\nbeta = 0.1\n[mitigation]\nmitigation = ["none"]'
    with pytest.raises(BadConfig, match=r"(?s)mu is set.*beta is set"):
        parse(text, Study)


REFUSED: dict[str, tuple[dict[str, dict[str, Any]], str]] = {
    "beyond the last round": ({"drift": {"drift_round": 19}}, "drift in round 19: the rounds are 1 to 18"),
    "round 0": ({"drift": {"drift_round": 0}}, "drift in round 0: the rounds are 1 to 18"),
    "no such client": ({"drift": {"affected": ["11"]}}, "no client '11'; there are 10: client-01 to"),
    "client 0": ({"drift": {"affected": ["0"]}}, "no client '0'"),
    "a client's name": ({"drift": {"affected": ["client-1"]}}, "did you mean 'client-"),
    "kind": ({"drift": {"drift": "label_swp"}}, "no drift 'label_swp'; did you mean 'label_swap'"),
    "second kind": ({"drift": {"second_drift": "nois", "second_round": 15}}, "did you mean 'noise'"),
    "kind of other data": ({"drift": {"drift": "vocabulary"}}, "vocabulary is drift of text"),
    "detector": ({"watch": {"detectors": ["combned"]}}, "no detector 'combned'; did you mean 'combined'"),
    "mitigation": ({"mitigation": {"mitigation": ["clutser"]}}, "did you mean 'cluster'"),
    "strategy": ({"training": {"strategy": "fedagv"}}, "no strategy 'fedagv'; did you mean 'fedavg'"),
    "learner": ({"training": {"learner": "mpl"}}, "no learner 'mpl'; did you mean 'mlp'"),
    "data": ({"data": {"data": "digit"}}, "did you mean 'digits'"),
    "alpha 0": ({"clients": {"alpha": 0.0}}, "alpha must be above 0"),
    "one client": ({"clients": {"clients": 1}}, "at least 2 clients"),
    "too many clients": ({"clients": {"clients": 1000}}, "1000 clients with at least 50 items each need"),
    "no unit": ({"clients": {"partition": "natural"}}, "digits names no units"),
    "second alone": (
        {"drift": {"drift": "none", "second_drift": "noise", "drift_round": None, "severity": None}},
        "a second drift needs a first",
    ),
    "nothing to act on": (
        {"watch": {"detectors": [], "items": None, "reference": None}}, "there is no detector",
    ),
    "joins": ({"training": {"joins": ["3"]}}, "expected a name, =, and a number"),
    "joins who": ({"training": {"joins": ["11=3"]}}, "no client '11'"),
    "joins when": ({"training": {"joins": ["3=soon"]}}, "3: 'soon' is not a whole number"),
    "no matrix": (
        {"drift": {"scenario": "none.csv", "drift_round": None, "severity": None, "concepts": ["noise=1"]}},
        "none.csv: cannot be read",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_done_is_refused_before_any_work(case: str) -> None:
    changes, words = REFUSED[case]
    told: list[str] = []
    with pytest.raises(MusterError) as said:
        simulate(_asked(**changes), Progress(told.append))
    assert words in str(said.value)
    assert told == []
    assert isinstance(said.value, BadConfig | BadData | UnknownName)


@pytest.mark.parametrize("joins", [["3=0"], ["3=99"], ["3=4", "3=6"]])
def test_a_client_joins_once_and_in_a_round_that_there_is(joins: list[str]) -> None:
    with pytest.raises(BadConfig):
        ready(Study.model_validate(_asked(training={"joins": joins})), loaded(Study()), 0)


@pytest.mark.parametrize("alpha", [float("nan"), float("inf")])
def test_alpha_is_a_number(alpha: float) -> None:
    with pytest.raises(BadConfig, match="alpha"):
        ready(Study.model_validate(_asked(clients={"alpha": alpha})), loaded(Study()), 0)


def test_a_matrix_is_read(tmp_path: Path) -> None:
    which = np.zeros((18, 10), int)
    which[12:, [1, 4]], which[15:, 7] = 1, 2
    study = Study.model_validate(_asked(drift=_matrix(tmp_path / "m.csv", which)))
    scenario = ready(study, loaded(study), 0).scenario

    assert (scenario.which == which).all()
    assert [(c.kind, c.severity) for c in scenario.concepts] == [("label_swap", 0.8), ("noise", 0.5)]


def _matrix(path: Path, which: Any) -> dict[str, Any]:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(which.tolist())
    concepts = ["label_swap=0.8", "noise=0.5"]
    return {"scenario": str(path), "concepts": concepts, "drift_round": None, "severity": None}


def test_a_matrix_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    cases: list[tuple[Any, str]] = [
        (np.zeros((17, 10), int), r"17 rows of \[10\] values"), (np.zeros((18, 9), int), r"18 rows of \[9\]"),
        (np.full((18, 10), 3), "names concepts 3 to 3"), (np.full((18, 10), -1), "names concepts -1"),
        (np.full((18, 10), 0.5), "row 1: '0.5' is not a whole number"),
    ]  # fmt: skip
    for which, words in cases:
        study = Study.model_validate(_asked(drift=_matrix(path, which)))
        with pytest.raises(BadConfig, match=words):
            ready(study, loaded(study), 0)
    for text in ("", "\n\n"):
        path.write_text(text)
        with pytest.raises(BadConfig, match="0 rows"):
            ready(study, loaded(study), 0)


def test_a_matrix_that_is_no_text_is_refused(tmp_path: Path) -> None:
    study = Study.model_validate(_asked(drift=_matrix(tmp_path / "m.csv", np.zeros((18, 10), int))))
    (tmp_path / "m.csv").write_bytes(bytes(range(256)))
    with pytest.raises(BadConfig):
        ready(study, loaded(study), 0)


def test_clients_are_named_or_counted_from_one() -> None:
    clients = ready(Study.model_validate(_asked()), loaded(Study()), 0).clients

    assert places(clients, ["1", "client-03", "10"]) == [0, 2, 9]


def test_a_run_says_what_was_found() -> None:
    run = _run()
    names = {(row["measure"], row["summary"], row["part"]) for row in run.estimates.rows()}

    assert ("detection", "f1", "") in names
    assert ("detection", "f1", "combined") in names
    assert ("detection", "f1", "always alarm") in names
    assert ("recovery", "completeness", "") in names
    assert ("recovery", "harm", "cluster, drifted units") in names
    assert ("accuracy", "gini", "") in names
    assert run.value("detection", "f1") > 0.9
    assert run.manifest["numbers_sent"]["cluster"] == 64 * 64 + 64 + 640 + 10 + 4 + 20 + 64
    assert {event["event"] for event in run.events} >= {"drift", "alarm", "own model"}
    assert run.rounds is not None
    assert len(run.rounds) == 3 * 18 * 10


def test_a_run_is_the_same_every_time() -> None:
    again = simulate(_asked())

    assert again.estimates.columns.keys() == _run().estimates.columns.keys()
    for name, column in again.estimates.columns.items():
        np.testing.assert_array_equal(column, _run().estimates[name])


def test_a_run_is_kept_and_read_again(tmp_path: Path) -> None:
    run = _run()
    found = muster.load(run.save(tmp_path / "run"))

    assert found.title == run.title
    assert found.status == run.status
    for kept, table in ((found.estimates, run.estimates), (found.rounds, run.rounds)):
        assert kept is not None
        assert table is not None
        assert list(kept.columns) == list(table.columns)
        for name, column in table.columns.items():
            np.testing.assert_array_equal(kept[name], column)
    assert [verdict.why for verdict in found.verdicts] == [verdict.why for verdict in run.verdicts]
    assert list(found.events) == list(run.events)
    assert [section.title for section in found.sections] == [section.title for section in run.sections]


def test_the_rounds_of_a_run_evaluated_as_a_log_say_the_same(tmp_path: Path) -> None:
    """`rounds.parquet`, one arm of it, read as somebody's own log: same accuracy, spreads, and F1."""
    run = _run()
    assert run.rounds is not None
    own = run.rounds.where(run.rounds["arm"] == "cluster")
    file = tmp_path / "rounds.parquet"
    write_table(file, muster.Table.of({k: v for k, v in own.columns.items() if k not in {"arm", "seed"}}))
    found = evaluate(str(file), how={"draws": 40})

    for summary in ("per_sample", "per_unit", "gap", "gini", "worst_tenth"):
        assert found.value("accuracy", summary) == pytest.approx(run.value("accuracy", summary), abs=1e-12)
    nothing = run.rounds.where(run.rounds["arm"] == "nothing")
    columns = {k: v for k, v in nothing.columns.items() if k not in {"arm", "seed", "alarm_combined"}}
    control = evaluate(muster.Table.of(columns).columns, how={"draws": 40})
    for rate in ("f1", "precision", "recall", "false_positive_rate"):
        expected = run.value("detection", rate, "adwin")
        assert control.value("detection", rate, "adwin") == pytest.approx(expected, nan_ok=True), rate


class _StopError(Exception):
    """Somebody pulls the plug."""


def _stopping(after: int) -> Any:
    told: list[str] = []

    def tell(arm: str) -> None:
        told.append(arm)
        if len(told) == after:
            raise _StopError

    return tell


@pytest.mark.parametrize("stops", [(7,), (2, 30, 31), (22, 22, 22)])
def test_a_study_that_was_stopped_ends_with_the_same_estimates(
    stops: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arms, "SECONDS", -1.0)
    asked, folder = _asked(), tmp_path / "states"
    for number, after in enumerate(stops):
        with pytest.raises(_StopError):
            simulate(asked, Progress(_stopping(after), Kept(folder, resume=number > 0)))
    told: list[str] = []
    found = simulate(asked, Progress(told.append, Kept(folder, resume=True)))

    assert len(told) < length(Study.model_validate(asked))
    for name, column in found.estimates.columns.items():
        np.testing.assert_array_equal(column, _run().estimates[name])
    assert list(found.events) == list(_run().events)
    assert found.rounds is not None
    for name, column in found.rounds.columns.items():
        np.testing.assert_array_equal(column, _run().rounds[name])  # type: ignore[index]
    assert not folder.exists()


def test_arms_that_ended_are_kept_however_short_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each arm takes less than the time after which states are written; all together take longer."""
    now = [0.0]

    def clock() -> float:
        now[0] += 0.4
        return now[0]

    monkeypatch.setattr("muster.suites.federation.arms.time.monotonic", clock)
    folder, asked = tmp_path / "states", _asked()
    with pytest.raises(_StopError):
        simulate(asked, Progress(_stopping(60), Kept(folder)))
    told: list[str] = []
    simulate(asked, Progress(told.append, Kept(folder, resume=True)))
    assert len(told) < 60


def test_resuming_something_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arms, "SECONDS", -1.0)
    folder = tmp_path / "states"
    with pytest.raises(BadConfig, match="there is nothing to resume"):
        simulate(_asked(), Progress(kept=Kept(folder, resume=True)))
    with pytest.raises(_StopError):
        simulate(_asked(), Progress(_stopping(3), Kept(folder)))
    with pytest.raises(BadConfig, match="was asked something else"):
        simulate(_asked(drift={"severity": 0.9}), Progress(kept=Kept(folder, resume=True)))
    assert folder.is_dir()


def test_resuming_with_other_data_of_the_same_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arms, "SECONDS", -1.0)
    file, folder = tmp_path / "table.csv", tmp_path / "states"
    rng = np.random.default_rng(0)

    def write(moved: float) -> None:
        rows = [[*(rng.normal(size=2) + k % 2 + moved).round(4).tolist(), "ab"[k % 2]] for k in range(400)]
        with file.open("w", newline="") as opened:
            csv.writer(opened).writerows([["x", "y", "label"], *rows])

    asked = _asked(
        data={"data": str(file), "label": "label"}, clients={"clients": 4}, drift={"drift": "label_swap"}
    )
    write(0)
    with pytest.raises(_StopError):
        simulate(asked, Progress(_stopping(3), Kept(folder)))
    write(5)
    with pytest.raises(MusterError):
        simulate(asked, Progress(kept=Kept(folder, resume=True)))


def test_arms() -> None:
    def named(**changes: Any) -> list[str]:
        return arms_of(Study.model_validate(_asked(**changes)))

    assert named() == ["cluster", "nothing", "no drift"]
    assert named(mitigation={"mitigation": ["reset", "reset", "none", "median"]}) == [
        "reset", "median", "nothing", "no drift",
    ]  # fmt: skip
    calm = {"drift": "none", "drift_round": None, "severity": None}
    assert named(mitigation={"mitigation": ["none"]}, drift=calm) == ["nothing"]


def test_two_seeds_are_two_federations() -> None:
    run = simulate(_asked(study={"seeds": 2}))
    assert run.rounds is not None
    first, second = (run.rounds.where(run.rounds["seed"] == seed) for seed in (0, 1))

    assert len(first) == len(second) == 540
    assert (first["value"] != second["value"]).any()
    np.testing.assert_array_equal(first["value"], _run().rounds["value"])  # type: ignore[index]


def test_validating_runs_three_rounds_of_each_arm() -> None:
    found = validate(Study.model_validate(_asked()))

    assert found[0] == "data: 1,797 items of digits, 64 features, 10 classes"
    assert sum("three rounds ran" in line for line in found) == 3


USERS: dict[str, dict[str, dict[str, Any]]] = {
    "two clients": {"clients": {"clients": 2}},
    "one class a client": {"clients": {"partition": "shards", "alpha": 1.0}},
    "hardly any data": {"data": {"limit": 20}, "clients": {"clients": 3, "minimum": 2}},
    "softmax": {"training": {"learner": "softmax"}},
    "text": {
        "data": {"data": "text", "limit": 300}, "clients": {"clients": 4, "minimum": 20},
        "drift": {"drift": "vocabulary"},
    },
    "a tenth is asked": {"training": {"fraction": 0.1, "strategy": "afl"}},
    "drift before the reference is full": {"drift": {"drift_round": 4}},
    "drift in round 1": {"drift": {"drift_round": 1}},
    "drift in the last round": {"drift": {"drift_round": 18}},
    "a reference longer than the run": {"watch": {"reference": 40}},
    "one round": {"training": {"rounds": 1}, "drift": {"drift_round": 1}},
    "more items than there are": {"watch": {"items": 1000}},
    "no detectors": {
        "watch": {"detectors": [], "items": None, "reference": None}, "mitigation": {"mitigation": ["none"]},
    },
    "no drift": {"drift": {"drift": "none", "drift_round": None, "severity": None}},
    "recurrent": {"drift": {"pattern": "recurrent", "drift_round": 11}},
    "a second drift": {"drift": {"second_drift": "noise", "second_round": 15, "second_affected": ["1"]}},
    "who comes and goes": {"training": {"dropout": 0.8, "stragglers": 0.5, "joins": ["1=5", "2=12"]}},
    "quantity": {"clients": {"partition": "quantity", "alpha": 2.0}},
    "by features": {"clients": {"partition": "feature"}},
    "another kind": {"drift": {"drift": "class_share"}},
    "no intervals": {"study": {"draws": 0}},
}  # fmt: skip


@pytest.mark.parametrize("case", USERS)
def test_what_users_do(case: str, tmp_path: Path) -> None:
    """It runs without a warning, says something of every verdict, and its report is written."""
    changes = {"watch": {"items": 50, "reference": 6}, **USERS[case]}
    run = simulate(_asked(**changes))
    folder = run.save(tmp_path / "run")

    assert (folder / "report.html").is_file() or (folder / "report.json").is_file()
    assert 0 <= run.value("accuracy", "per_sample") <= 1
    assert all(verdict.why for verdict in run.verdicts)


def test_a_natural_partition_has_the_clients_of_the_data(tmp_path: Path) -> None:
    file, rng = tmp_path / "table.csv", np.random.default_rng(0)
    rows = [
        [*(rng.normal(size=3) + k % 2).round(3).tolist(), "ab"[k % 2], f"site {k % 5}"] for k in range(500)
    ]
    with file.open("w", newline="") as opened:
        csv.writer(opened).writerows([["x", "y", "z", "label", "where"], *rows])
    run = simulate(
        _asked(
            data={"data": str(file), "label": "label", "client_column": "where"},
            clients={"partition": "natural"}, drift={"drift": "shift", "affected": ["site 3", "1"]},
        )
    )  # fmt: skip
    assert run.rounds is not None
    drifted = run.rounds.where((run.rounds["arm"] == "nothing") & (run.rounds["drift"] == 1))

    assert set(run.rounds["unit"].tolist()) == {f"site {k}" for k in range(5)}
    assert set(drifted["unit"].tolist()) == {"site 0", "site 3"}


def test_a_federation_in_which_everybody_diverges_is_told() -> None:
    run = simulate(_asked(training={"lr": 1e30}))

    assert any("diverged" in note for note in run.manifest["notes"])


def test_a_federation_that_nobody_joins_is_refused() -> None:
    with pytest.raises(MusterError):
        simulate(_asked(training={"joins": [f"{k}=99" for k in range(1, 11)]}))


def test_a_batch_larger_than_any_client_is_all_items() -> None:
    from muster.systems.federation.schedule import batches

    starts = np.array([0, 50, 90])
    whole = batches(starts, np.arange(2), batch=50, epochs=1, where=(0, 1))
    more = batches(starts, np.arange(2), batch=1_000_000, epochs=1, where=(0, 1))
    assert more.items.size <= 10 * whole.items.size


@pytest.mark.parametrize("clients", [300, 800])
def test_many_clients_of_few_items_are_watched(clients: int) -> None:
    """Half of them exchange their labels: that must be seen, or it must be said that it cannot be."""
    asked = _asked(
        clients={"clients": clients, "minimum": 2, "partition": "iid"},
        drift={"affected": [str(k) for k in range(1, clients, 2)]},
        watch={"detectors": ["combined"], "items": 50, "reference": 8},
        mitigation={"mitigation": ["none"]}, training={"epochs": 1, "warmup": 10},
    )  # fmt: skip
    study = Study.model_validate(asked)
    run = ready(study, loaded(study), 0).arm("nothing").run()
    said = run.log.whole["combined"]

    assert (said[12:] != 0).all()


def test_how_of_a_log_is_checked() -> None:
    with pytest.raises(TypeError):
        evaluate({"unit": ["a"], "round": [1], "accuracy": [0.5], "n": [9]}, how={"levle": 0.9})
    assert How(model="m").level == 0.95
