"""The command line as a shell sees it: words in, text and an exit code out."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from muster.cli import main

OK, BREACH, USAGE, BAD_DATA, INCONCLUSIVE, STOPPED = 0, 1, 2, 3, 4, 130
Said = tuple[int, str, str]
Shell = Callable[..., Said]


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def run(*words: str) -> Said:
        code = main(list(words))
        out, err = capsys.readouterr()
        return code, out, err

    return run


def _predictions(path: Path, shares: list[float], rows: int = 200, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    unit = np.repeat([f"client-{i}" for i in range(len(shares))], rows)
    truth = rng.integers(0, 3, unit.size)
    right = rng.random(unit.size) < np.repeat(shares, rows)
    sure = np.where(right, truth, (truth + 1) % 3)
    scores = np.full((unit.size, 3), 0.1)
    scores[np.arange(unit.size), sure] = 0.8
    columns = {"client": unit, "label": truth, "yhat": sure, "gender": rng.choice(["f", "m"], unit.size)}
    frame = pl.DataFrame({**columns, **{f"p_{k}": scores[:, k] for k in range(3)}})
    frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path)
    return path


@pytest.fixture
def fair(tmp_path: Path) -> str:
    return str(_predictions(tmp_path / "fair.parquet", [0.9] * 8))


@pytest.fixture
def unfair(tmp_path: Path) -> str:
    return str(_predictions(tmp_path / "unfair.csv", [0.9] * 8 + [0.4]))


FLAGS = ("--unit", "client", "--truth", "label", "--scores", "p_*")


def test_a_run_that_passes_ends_with_0_and_writes_its_folder(shell: Shell, fair: str) -> None:
    code, out, err = shell("evaluate", fair, *FLAGS, "--out", "run")

    assert code == OK
    assert "Is it good?" in out
    assert "written: run/report.html" in err
    assert Path("run/estimates.parquet").exists()


def test_a_breach_ends_with_1(shell: Shell, unfair: str) -> None:
    code, out, _ = shell(
        "evaluate", unfair, "--unit", "client", "--truth", "label", "--guess", "yhat", "--no-save"
    )

    assert code == BREACH
    assert "client-8" in out
    assert not Path("runs").exists()


def test_answers_slices_and_a_model_name(shell: Shell, unfair: str) -> None:
    words = (
        "--unit",
        "client",
        "--truth",
        "label",
        "--guess",
        "yhat",
        "--slice",
        "gender",
        "--positive",
        "1",
    )
    code, out, _ = shell("evaluate", unfair, *words, "--model", "champion", "--out", "run")

    assert code == BREACH
    assert out.startswith("Evaluation of champion\n")
    assert "Group fairness by gender" in out
    assert "## Are groups treated alike?" in Path("run/report.md").read_text(encoding="utf-8")


def test_json_is_all_that_goes_to_the_output(shell: Shell, fair: str) -> None:
    code, out, err = shell("evaluate", fair, *FLAGS, "--json", "--out", "run")
    data = json.loads(out)

    assert code == OK
    assert data["title"] == "Evaluation of model"
    assert {verdict["status"] for verdict in data["verdicts"]} <= {"ok", "watch", "unknown"}
    assert "written" in err
    assert data == json.loads(Path("run/report.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evaluate", "{fair}", "--untis", "client"], "--untis"),
        (["evaluate", "{fair}", *FLAGS, "--draws", "many"], "draws"),
        (["evaluate", "{fair}", *FLAGS, "--draws", "-3"], "draws: .*greater than or equal to 0"),
        (["evaluate", "{fair}", *FLAGS, "--measure", "acuracy"], "did you mean 'accuracy'"),
        (["evaluate"], "what is to be evaluated"),
        (["evalute"], "evalute"),
        (["calibrate", "{fair}"], "--judge requires an argument"),
    ],
)
def test_wrong_words_end_with_2_and_one_message(words: list[str], said: str, shell: Shell, fair: str) -> None:
    code, out, err = shell(*(word.format(fair=fair) for word in words))

    assert code == USAGE
    assert re.search(said, err)
    assert out == ""
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evaluate", "none.parquet", *FLAGS], "none.parquet: no such file"),
        (["evaluate", "{fair}", "--truth", "lable", "--scores", "p_*"], "did you mean 'label'"),
        (["show", "nowhere"], "nowhere: not a run"),
        (["merge", "a", "b"], "a: not a run"),
    ],
)
def test_bad_data_ends_with_3_and_one_message(words: list[str], said: str, shell: Shell, fair: str) -> None:
    code, out, err = shell(*(word.format(fair=fair) for word in words))

    assert code == BAD_DATA
    assert said in err
    assert out == ""


def test_settings_come_from_a_file_and_flags_go_before_it(shell: Shell, fair: str) -> None:
    Path("study.toml").write_text(
        f'[data]\nfiles = ["{fair}"]\ntruth = "label"\nscores = ["p_*"]\nunit = "client"\n'
        '[study]\nmodel = "filed"\ndraws = 40\nseed = 3\n',
        encoding="utf-8",
    )
    code, out, _ = shell("evaluate", "--config", "study.toml", "--seed", "4", "--out", "run")

    assert code == OK
    assert out.startswith("Evaluation of filed")
    assert "40 populations were redrawn (seed 4" in out
    again, *_ = shell("evaluate", "--config", "run/run.toml", "--out", "again")
    assert again == OK
    assert Path("run/estimates.parquet").read_bytes() == Path("again/estimates.parquet").read_bytes()


def test_all_that_is_wrong_in_a_settings_file_is_said_at_once_with_its_lines(shell: Shell) -> None:
    Path("study.toml").write_text(
        '[data]\ntruht = "label"\n\n[study]\ndraws = "many"\nunits = "all"\n', encoding="utf-8"
    )
    code, _, err = shell("evaluate", "--config", "study.toml")

    assert code == USAGE
    assert "study.toml: 3 problems" in err
    assert "line 2: unknown key 'data.truht'; did you mean 'truth'?" in err
    assert "line 5: study.draws" in err
    assert "line 6: study.units" in err


def test_own_bands_take_the_place_of_the_default_ones(shell: Shell, fair: str) -> None:
    Path("bands.toml").write_text('[accuracy.mean]\nbad = "below"\nbreach = 0.99\n', encoding="utf-8")
    code, out, _ = shell("evaluate", fair, *FLAGS, "--bands", "bands.toml", "--no-save")

    assert code == BREACH
    assert "is below 0.99" in out


def test_show_and_merge(shell: Shell, fair: str, unfair: str) -> None:
    shell("evaluate", fair, *FLAGS, "--out", "a")
    shell("evaluate", unfair, *FLAGS, "--out", "b")
    shown, out, _ = shell("show", "b")
    merged, _, _ = shell("merge", "a", "b", "--out", "both")

    assert (shown, merged) == (BREACH, BREACH)
    assert "client-8" in out
    assert json.loads(Path("both/manifest.json").read_text(encoding="utf-8"))["rows"] == 3400


def test_calibrate(shell: Shell, fair: str, unfair: str) -> None:
    code, out, _ = shell("calibrate", fair, unfair, "--truth", "label", "--scores", "p_*")
    _, data, _ = shell("calibrate", fair, unfair, "--truth", "label", "--scores", "p_*", "--json")

    assert code == OK
    assert "The temperature is" in out
    assert json.loads(data)["temperature"] == pytest.approx(0.74, abs=0.1)


def test_measures_and_bands_are_listed(shell: Shell) -> None:
    code, out, _ = shell("measures")
    assert code == OK
    assert "balanced_accuracy" in out
    _, bands, _ = shell("bands")
    Path("bands.toml").write_text(bands, encoding="utf-8")
    from muster.verdicts.bands import default_bands, load_bands

    assert load_bands("bands.toml") == default_bands()


def test_a_folder_of_many_files(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for i in range(3):
        _predictions(tmp_path / "parts" / f"{i}.parquet", [0.9] * 6, seed=i)
    code, out, _ = shell("evaluate", "parts", *FLAGS, "--no-save")

    assert code == OK
    assert "3,600 rows were read" in out


def _spawn(words: list[str], folder: Path, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "muster.cli", *words]
    return subprocess.Popen(  # type: ignore[call-overload]
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def test_the_demonstration_runs_and_says_where_its_report_is(tmp_path: Path) -> None:
    running = _spawn(["demo"], tmp_path, env={**os.environ, "NO_COLOR": "1"})
    out, err = running.communicate(timeout=120)

    assert running.returncode == OK
    assert "clinic-07" in out
    assert "\x1b[" not in out
    assert "written: runs/demo/report.html" in err
    assert (tmp_path / "runs/demo/report.html").exists()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at what files a process has open")
@pytest.mark.parametrize("after", [0.0, 0.3, 0.6, 0.9])
def test_ctrl_c_stops_with_a_message_and_leaves_nothing(after: float, tmp_path: Path) -> None:
    rows = 9_000_000
    frame = pl.DataFrame({"client": np.arange(rows) % 1000, "label": 0, "p_0": 0.7, "p_1": 0.3})
    frame.write_csv(tmp_path / "large.csv")
    running = _spawn(["evaluate", "large.csv", *FLAGS, "--out", "run"], tmp_path)
    while not _has_open(running.pid, "large.csv"):
        assert running.poll() is None
        time.sleep(0.01)
    time.sleep(after)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=120)

    assert err == "muster: stopped; nothing half-written is left\n"
    assert running.returncode == STOPPED
    assert [file.name for file in tmp_path.iterdir()] == ["large.csv"]


def _has_open(pid: int, name: str) -> bool:
    return any(os.path.realpath(link).endswith(name) for link in Path(f"/proc/{pid}/fd").iterdir())


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m muster.cli measures | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_breach_is_a_breach_also_when_nobody_reads_on(more: list[str], unfair: str, tmp_path: Path) -> None:
    words = [
        "evaluate",
        unfair,
        "--unit",
        "client",
        "--truth",
        "label",
        "--guess",
        "yhat",
        "--no-save",
        *more,
    ]
    command = f"{sys.executable} -m muster.cli {' '.join(words)} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (BREACH, "")


def test_an_output_that_is_closed_is_no_failure(fair: str, tmp_path: Path) -> None:
    command = (
        f"{sys.executable} -m muster.cli evaluate {fair} {' '.join(FLAGS[:4])} --scores 'p_*' --no-save >&-"
    )
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (OK, "")


@pytest.fixture
def two(shell: Shell, tmp_path: Path) -> tuple[str, str]:
    """Runs of two models over the same units; the second is much better, but for one unit."""
    for name, shares in (("old", [0.7] * 8), ("new", [0.9] * 7 + [0.4])):
        file = _predictions(tmp_path / f"{name}.parquet", shares)
        shell("evaluate", str(file), *FLAGS, "--out", name, "--model", name)
    return "old", "new"


def test_compare(two: tuple[str, str], shell: Shell) -> None:
    code, out, err = shell("compare", *two, "--out", "runs/compared")
    _, data, _ = shell("compare", *two, "--json", "--out", "again")

    assert code == OK
    assert "new against old" in out
    assert "Hurt most: client-7" in out
    assert "written: runs/compared/report.html" in err
    assert json.loads(data)["title"] == "new against old"
    shown, again, _ = shell("show", "runs/compared")
    assert (shown, again) == (OK, out)


def test_compare_repeated_runs_by_pattern(two: tuple[str, str], shell: Shell) -> None:
    for i in range(3):
        for name in two:
            Path(f"seeds-{name}-{i}").symlink_to(name, target_is_directory=True)
    code, out, _ = shell("compare", "seeds-old-*", "seeds-new-*", "--out", "seeds")

    assert code == OK
    assert "3 pairs of runs" in out
    code, _, err = shell("compare", "*.parquet", "old")
    assert (code, "no run in" in err) == (BAD_DATA, True)


def test_gate_has_three_exit_codes_and_leaves_a_record(two: tuple[str, str], shell: Shell) -> None:
    old, new = two
    codes = {}
    for name, rule in {
        "pass": 'kind = "at_least"\nvalue = 0.5',
        "fail": 'kind = "at_most"\nvalue = 0.2',
        "open": 'kind = "at_least"\nvalue = 0.84',
    }.items():
        Path(f"{name}.toml").write_text(f"[[rule]]\n{rule}\n", encoding="utf-8")
        codes[name], out, _ = shell("gate", new, "--policy", f"{name}.toml")
        assert len(out.splitlines()) == 1

    assert codes == {"pass": OK, "fail": BREACH, "open": INCONCLUSIVE}
    against, out, _ = shell("gate", new, "--against", old)
    verdicts = json.loads(Path(new, "verdicts.json").read_text(encoding="utf-8"))
    xml = Path(new, "gates.xml").read_text(encoding="utf-8")

    assert against in {OK, BREACH, INCONCLUSIVE}
    assert len(out.splitlines()) == sum(v["subject"] == "gate" for v in verdicts) == xml.count("<testcase ")
    assert any(v["subject"] != "gate" for v in verdicts)
    assert shell("show", new)[0] in {OK, BREACH}
    _, data, _ = shell("gate", new, "--policy", "pass.toml", "--json")
    assert [v["label"] for v in json.loads(data)] == ["pass"]


def test_card(two: tuple[str, str], shell: Shell) -> None:
    code, _, err = shell("card", two[1])
    text = Path(two[1], "card.md").read_text(encoding="utf-8")

    assert (code, err) == (OK, "written: new/card.md\n")
    assert text.startswith("# Model card: new\n")
    assert "*To be written by the author:* what the model is for" in text
    assert re.search(r"\| Accuracy \| 0\.8\d+ \| \[0\.\d+, \d\.\d+\] \| 0\.\d+ \| 1,600 \|", text)


def test_report_writes_every_form(two: tuple[str, str], shell: Shell) -> None:
    code, _, err = shell("report", two[0])
    names = {file.name for file in Path(two[0], "figures").iterdir()}
    tables = {file.suffix for file in Path(two[0], "tables").iterdir()}

    assert (code, err) == (OK, "written: old/report.html\n")
    assert {Path(name).suffix for name in names} == {".svg", ".png", ".pdf"}
    assert {"worst-units.svg", "confusion.pdf", "units.png"} <= names
    assert tables == {".csv", ".tex"}
    assert "](figures/worst-units.svg)" in Path(two[0], "report.md").read_text(encoding="utf-8")
    assert shell("report", two[0], "--out", "elsewhere")[0] == OK
    assert shell("evaluate", "old.parquet", *FLAGS, "--out", two[0], "--overwrite")[0] in {OK, BREACH}


def test_what_is_damaged_is_bad_data_and_a_defect_is_not_a_breach(
    two: tuple[str, str], shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = two
    shell("compare", old, new, "--out", "c")
    assert shell("card", "c")[0] == BAD_DATA
    for text in ("{", "[1]"):
        Path(new, "verdicts.json").write_text(text, encoding="utf-8")
        assert shell("gate", new)[0] == BAD_DATA
    Path(old, "run.toml").write_text("", encoding="utf-8")
    for words in (("gate", old), ("card", old), ("compare", old, new)):
        code, _, err = shell(*words)
        assert (code, "run.toml lacks study.model" in err) == (BAD_DATA, True)
    monkeypatch.setattr("muster.cli.commands.run", lambda _: 1 // 0)
    code, _, err = shell("show", new)

    assert code == 70
    assert "this is a defect of Muster" in err


@pytest.mark.parametrize(("rule", "code"), [("at_least", OK), ("at_most", BREACH)])
def test_a_gate_says_the_same_when_nobody_reads_on(
    rule: str, code: int, two: tuple[str, str], tmp_path: Path
) -> None:
    Path("gates.toml").write_text(f'[[rule]]\nkind = "{rule}"\nvalue = 0.2\n' * 400, encoding="utf-8")
    command = (
        f"{sys.executable} -m muster.cli gate {two[1]} --policy gates.toml | true; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (code, "")


def test_compare_takes_units_and_level(two: tuple[str, str], shell: Shell) -> None:
    _, out, _ = shell("compare", *two, "--units", "fixed", "--level", "0.8", "--out", "fixed")

    assert "Intervals are at 80%: no interval: too few shared units, and no shared items" in " ".join(
        out.split()
    )
