"""``muster federation`` as people use it: flags, files, exit codes, what goes wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from muster.cli import main
from muster.cli.federation import run
from muster.reports.reading import load
from muster.suites.federation.arms import Kept
from muster.suites.federation.settings import Study
from muster.suites.federation.study import Progress, simulate

SHORT = [
    "--rounds", "18", "--warmup", "5", "--epochs", "1", "--drift-round", "14", "--items", "50",
    "--draws", "50", "--seeds", "1", "--detectors", "combined", "--mitigation", "cluster", "--quiet",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_run_from_flags_is_told_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["federation", "run", *SHORT, "--affected", "2,client-05", "--severity", "1", "--out", "one"])
    said = capsys.readouterr()
    found = load("one")

    assert code in {0, 1}
    assert "Did it recover?" in said.out
    assert "The data of 2 of 10 clients drifted: client-02, client-05." in " ".join(said.out.split())
    assert found.manifest["kind"] == "federation"
    assert found.asked["drift"]["affected"] == ["2", "client-05"]
    assert found.rounds is not None
    assert set(found.rounds["arm"].tolist()) == {"cluster", "nothing", "no drift"}
    assert not list(Path().glob("*.states"))


def test_flags_go_before_the_file() -> None:
    Path("study.toml").write_text(
        "[drift]\nseverity = 0.2\ndrift = 'noise'\n[study]\nmodel = 'mine'\n", "utf-8"
    )
    main(["federation", "run", "--config", "study.toml", *SHORT, "--severity", "0.9", "--out", "one"])

    asked = load("one").asked
    assert (asked["drift"]["severity"], asked["drift"]["drift"]) == (0.9, "noise")
    assert asked["study"]["model"] == "mine"


def test_validation_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["federation", "run", "--mode", "validate", "--seeds", "1"]) == 0

    said = capsys.readouterr().out
    assert said.startswith("data: 1,797 items of digits, 64 features, 10 classes\nclients: 10, with")
    assert said.count("three rounds ran") == 4
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--drift-round", "60"], "drift in round 60: the rounds are 1 to 50"),
        (["--affected", "2,99"], "no client '99'; there are 10"),
        (["--alpha", "0"], "alpha must be above 0"),
        (["--clients", "900"], "digits has 1797"),
        (["--clients", "1"], "at least 2 clients, not 1"),
        (["--drift", "label_swop"], "did you mean 'label_swap'?"),
        (["--strategy", "fedavgg"], "did you mean 'fedavg'?"),
        (["--mitigation", "clustr"], "did you mean 'cluster'?"),
        (["--detectors", "combind"], "did you mean 'combined'?"),
        (["--learner", "mpl"], "did you mean 'mlp'?"),
        (["--data", "fashion"], "did you mean 'fashion-mnist'?"),
        (["--drift", "vocabulary"], "vocabulary is drift of text, digits is image"),
        (["--mu", "0.3"], "training.mu is set and not used"),
        (["--partition", "natural"], "digits names no units"),
        (["--severity", "2"], "less than or equal to 1"),
        (["--resume"], "say with --out which run is to go on"),
        (["--sweep", "0.5,x"], "'x' is not a number"),
        (["--joins", "3"], "expected a name, =, and a number"),
        (["--learner", "missing.py:make"], "there is no Python file missing.py"),
    ],
)
def test_what_is_asked_wrongly_is_said(
    flags: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["federation", "run", *flags])

    assert code in {2, 3}
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_file_of_another_version_or_with_unknown_keys_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("old.toml").write_text("version = 2\n[training]\nroundz = 3\n", "utf-8")

    assert main(["federation", "run", "--config", "old.toml"]) == 2
    said = capsys.readouterr().err
    assert "line 1: version: settings of version 2, and this Muster reads version 1" in said
    assert "line 3: unknown key 'training.roundz'; did you mean 'rounds'?" in said


def test_no_flag_has_two_meanings() -> None:
    groups = [field.annotation for name, field in Study.model_fields.items() if name != "version"]
    names = [name for group in groups for name in group.model_fields]  # type: ignore[union-attr]
    own = set(run.__annotations__) - set(Study.model_fields) - {"return"}

    assert len(names) == len(set(names))
    assert own & set(names) == set()


def test_a_log_is_evaluated(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {
            "unit": f"c{u}",
            "round": r,
            "accuracy": 0.9 - 0.3 * (r > 5 and u < 3),
            "n": 100,
            "alarm": int(r > 6),
        }
        for r in range(1, 13)
        for u in range(1, 7)
    ]
    Path("log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    command = ["federation", "evaluate", "log.jsonl", "--out", "one", "--draws", "50"]
    code = main([*command, "--drift-round", "6", "--affected", "c1,c2", "--json"])
    said = json.loads(capsys.readouterr().out)
    found = load("one")

    assert code == 1
    assert said["sections"][0]["lead"].startswith("Accuracy fell from 0.9000 to 0.8000 and ended at 0.8000")
    assert found.value("detection", "recall") == pytest.approx(6 / 7)
    assert found.value("recovery", "completeness") == pytest.approx(0, abs=1e-9)
    assert found.value("accuracy") == pytest.approx(0.8)
    assert main(["federation", "evaluate", "log.jsonl", "--first-round", "0", "--out", "two"]) in {0, 1}
    assert main(["federation", "evaluate"]) == 2


def test_a_file_of_python_gives_the_learner() -> None:
    Path("own.py").write_text(
        "import torch\n\n\ndef make(features, classes):\n    return torch.nn.Sequential(torch.nn.Flatten(), "
        "torch.nn.Linear(features, classes))\n",
        "utf-8",
    )
    main(["federation", "run", *SHORT, "--learner", "own.py:make", "--out", "own"])
    main(["federation", "run", *SHORT, "--learner", "softmax", "--out", "ours"])

    own, ours = (load(name).value("accuracy") for name in ("own", "ours"))
    assert own == pytest.approx(ours, abs=0.1)


def test_notes_say_what_was_not_ready() -> None:
    asked = {
        "training": {"rounds": 16, "warmup": 0, "epochs": 1}, "drift": {"drift_round": 8},
        "watch": {"detectors": ["combined"], "items": 50}, "mitigation": {"mitigation": ["none"]},
        "study": {"seeds": 1, "draws": 50},
    }  # fmt: skip
    notes = simulate(asked).manifest["notes"]

    assert any("before the reference of 10 rounds was full" in note for note in notes)
    assert any("still learning when the drift began" in note for note in notes)


def test_a_sweep_finds_the_smallest_drift() -> None:
    asked = {
        "training": {"rounds": 18, "warmup": 10, "epochs": 1},
        "drift": {"drift": "label_noise", "drift_round": 14, "affected": [str(c) for c in range(1, 11)]},
        "watch": {"detectors": ["combined"], "sweep": ["0.4", "0.01"]},
        "mitigation": {"mitigation": ["none"]}, "study": {"seeds": 2, "draws": 50},
    }  # fmt: skip
    told: list[str] = []
    made = simulate(asked, Progress(told.append, Kept()))
    (grid,) = (g for section in made.sections for g in section.grids if g.title.startswith("Share of drifts"))

    assert [field.name for field in grid.fields] == ["detector", "severity 0.01", "severity 0.4"]
    assert grid.rows[0][0] == "combined"
    assert grid.rows[0][2] == 1.0
    assert len(told) == 2 * 4 * 28
    assert np.isfinite(made.value("accuracy"))


def test_a_federation_is_gated_and_not_merged_or_compared(capsys: pytest.CaptureFixture[str]) -> None:
    main(["federation", "run", *SHORT, "--out", "one"])
    capsys.readouterr()

    assert main(["gate", "one"]) in {0, 1, 4}
    said = capsys.readouterr().out
    assert "completeness" in said
    assert "harm_stable" in said
    for command in (["merge", "one"], ["compare", "one", "one"]):
        assert main([*command, "--out", "two"]) == 3
        assert "is a federation over time" in capsys.readouterr().err


def test_only_shares_are_evaluated(capsys: pytest.CaptureFixture[str]) -> None:
    def log(metric: str, scale: float) -> None:
        rows = [
            {"unit": f"c{u}", "round": r, "metric": metric, "value": scale * (0.5 + u / 10), "n": 50}
            for r in range(1, 5)
            for u in range(4)
        ]
        Path("log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    for metric, scale in (("loss", 3.0), ("loss", 0.5), ("margin", 3.0)):
        log(metric, scale)
        assert main(["federation", "evaluate", "log.jsonl", "--which", metric]) == 3
        assert f"{metric} is not a share between 0 and 1" in capsys.readouterr().err
    log("dice", 1.0)
    assert (
        main(["federation", "evaluate", "log.jsonl", "--which", "dice", "--out", "dice", "--draws", "50"]) < 2
    )
    assert "Dice is taken for a share of the rows" in " ".join(capsys.readouterr().out.split())
    assert {v.measure for v in load("dice").verdicts if v.subject == "every unit"} == {"dice"}


def test_seeds_keep_their_number() -> None:
    asked = {
        "training": {"rounds": 16, "warmup": 0, "epochs": 1}, "drift": {"drift_round": 12},
        "watch": {"detectors": ["combined"], "items": 50}, "mitigation": {"mitigation": ["none"]},
        "study": {"seeds": 2, "seed": 7, "draws": 50},
    }  # fmt: skip
    made = simulate(asked)

    assert made.rounds is not None
    assert set(made.rounds["seed"].tolist()) == {7, 8}
    assert set(made.tallies.keys["slice"].tolist()) == {"seed 7", "seed 8"}
    assert {event["seed"] for event in made.events} <= {7, 8}
