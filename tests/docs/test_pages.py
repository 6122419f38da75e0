"""What the documentation shows runs, and what it says is what the code says."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import muster
from muster.cli import main
from tests.populations import rows_of
from tools.write_docs import DOCS, pages

ROOT = DOCS.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> Path:
    """The files that the pages speak of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    given = rows_of(rng, rows=900, units=10, moments=2)
    scores = {f"p_{k}": given["scores"][:, k] for k in range(3)}
    client = [name.replace("unit-", "c") for name in given["unit"]]
    frame = pl.DataFrame({"client": client, "round": given["time"], "label": given["truth"], **scores})
    frame = frame.with_columns(gender=given["group"], id=pl.int_range(pl.len()))
    for name in ("predictions", "validation", "test"):
        frame.write_parquet(f"{name}.parquet")
    Path("parts").mkdir()
    frame[:450].write_parquet("parts/1.parquet")
    frame[450:].write_parquet("parts/2.parquet")
    truth, guess = given["truth"] > 0, given["guess"] > 0
    answers = {"client": client, "y": truth.astype(int), "yhat": guess.astype(int)}
    pl.DataFrame(answers).with_columns(gender=given["group"]).write_csv("preds.csv")
    _federation(rng)
    return tmp_path


def _federation(rng: np.random.Generator) -> None:
    """A log of eight rounds, a table of hospitals, and a scenario."""
    rows = [
        {"unit": f"c{u}", "round": r, "accuracy": round(0.9 - 0.3 * (r > 5 and u < 3) + u / 100, 3), "n": 80}
        | {"alarm": int(r > 6), "drift": int(r > 5 and u < 3)}
        for r in range(1, 9)
        for u in range(1, 7)
    ]
    pl.DataFrame(rows).write_ndjson("rounds.jsonl")
    ill = rng.integers(0, 2, 800)
    numbers = {f"v{k}": rng.normal(ill, 1) for k in range(4)}
    hospital = rng.choice(["north", "south", "east"], 800)
    pl.DataFrame({"hospital": hospital, "ill": ill, **numbers}).write_csv("hospitals.csv")
    which = np.zeros((24, 4), int)
    which[14:, 0], which[18:, 1] = 1, 2
    np.savetxt("scenario.csv", which, fmt="%d", delimiter=",")


def _blocks(page: Path) -> Iterator[tuple[str, str]]:
    yield from BLOCK.findall(page.read_text(encoding="utf-8"))


def _run(page: Path) -> None:
    """Python, commands and settings files, in the order of the page."""
    names: dict[str, object] = {}
    for kind, text in _blocks(page):
        if kind == "python":
            exec(compile(text, str(page), "exec"), names)
        elif kind == "toml":
            Path(text.split()[1]).write_text(text, encoding="utf-8")
        elif kind == "console":
            for line in text.splitlines():
                words = shlex.split(line.removeprefix("$ "))
                assert words[0] == "muster"
                assert main(words[1:]) in {0, 1, 4}, line


def test_the_blocks_of_how_to_run(folder: Path) -> None:
    _run(DOCS / "how-to.md")

    assert (folder / "runs/again/estimates.parquet").read_bytes() == (
        folder / "runs/champion/estimates.parquet"
    ).read_bytes()


def test_the_blocks_of_federations_run(folder: Path) -> None:
    _run(DOCS / "federations.md")

    assert (folder / "runs/study/report.html").exists()
    assert (folder / "runs/scenario/rounds.parquet").exists()


def test_the_blocks_of_the_readme_run_and_say_what_it_says(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("north", "south"):
        muster.evaluate("preds.csv", truth="y", guess="yhat", unit="client").save(f"runs/{name}")
    _run(ROOT / "README.md")
    said = capsys.readouterr().out

    assert "breach\n[7]\nTrue\nOne bad unit: 7 at" in said
    assert (folder / "out/report.html").exists()


@pytest.mark.slow
def test_the_readme_quotes_the_demonstration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = re.findall(r"`make demo` is `muster ([^`]*)`", (ROOT / "README.md").read_text("utf-8"))
    main([*command.split(), "--out", "runs/demo", "--quiet"])
    said = " ".join(capsys.readouterr().out.split())
    quoted, *_ = (text for kind, text in _blocks(ROOT / "README.md") if kind == "text")

    for line in quoted.splitlines():
        _like(line, said)


def _like(line: str, said: str) -> None:
    """The same words, and numbers that differ by what another processor's rounding does to training."""
    number = r"-?\d+(?:\.\d+)?"
    parts = re.split(rf"(?<![\w-])({number})(?![\w])", line)
    found = re.search("".join(f"({number})" if i % 2 else re.escape(p) for i, p in enumerate(parts)), said)
    assert found, line
    for ours, theirs in zip(parts[1::2], found.groups(), strict=True):
        assert float(theirs) == pytest.approx(float(ours), abs=0.05 if "." in ours else 2), line


@pytest.mark.parametrize("name", pages())
def test_pages_written_from_the_code_are_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == pages()[name], "run make docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_command_is_in_the_documentation() -> None:
    from muster.cli.commands import app

    text = " ".join(page.read_text(encoding="utf-8") for page in PAGES)
    own = [name for name in app if not name.startswith("-")]

    assert len(own) >= 7
    assert [name for name in own if f"muster {name}" not in text] == []
