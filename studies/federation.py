"""Detection and mitigation on real images.

    python -m studies.federation [digits] [fashion-mnist] [detected] [mitigated] [quiet] [curves] [smallest]

All data and parts, or those named. Writes docs/results/federation.md, its parts in a JSON beside it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from muster.records import Rounds, Samples, Table
from muster.sources.datasets import dataset
from muster.suites.federation.prepare import CONTROL, TWIN, Ready, ready
from muster.suites.federation.settings import Study
from muster.summaries import detection, recovery
from muster.systems.federation.resuming import restore, state_of
from muster.systems.federation.simulate import Federation

DOCS = Path(__file__).parents[1] / "docs" / "results"
SEEDS = (500, 501, 502, 503, 504)
ONSET = 25
CALM = range(600, 660)
LEVELS = ("low", "middle", "high")
KINDS: Mapping[str, tuple[str, str, tuple[str, ...], tuple[float, float, float]]] = {
    "covariate": ("rotation", "sudden", (), (0.1, 0.25, 0.5)),
    "gradual": ("blur", "gradual", (), (0.2, 0.4, 0.8)),
    "recurrent": ("noise", "recurrent", (), (0.1, 0.25, 0.5)),
    "virtual": ("brightness", "sudden", (), (0.03, 0.08, 0.2)),
    "label share": ("class_share", "sudden", (), (0.15, 0.3, 0.8)),
    "concept": ("label_noise", "sudden", (), (0.03, 0.1, 0.3)),
    "3 of 10": ("noise", "sudden", ("2", "5", "8"), (0.15, 0.3, 0.6)),
}
DETECTORS = ("combined", "adwin", "adwin latched", "ks", "psi", "w1", "chi-square", "evidently", "mmd")
MITIGATIONS = ("cluster", "fine_tune", "recency", "lr_boost", "reset", "trimmed_mean", "median")
SWEEP = (0.02, 0.05, 0.1, 0.2, 0.4)
EVERYBODY = tuple(str(c) for c in range(1, 11))
LIMITS = {"digits": None, "fashion-mnist": 10_000}


@cache
def samples_of(data: str) -> Samples:
    """The items; of Fashion-MNIST 10,000, so that a client has about 1,000."""
    return dataset(data, limit=LIMITS[data])


def study_of(data: str, drift: Mapping[str, Any], watch: Mapping[str, Any], **more: Any) -> Study:
    """What all parts share: 10 clients, Dirichlet shares, converged before round 1."""
    training = {"warmup": 40, "epochs": 2 if data == "digits" else 1, "rounds": 50, **more}
    return Study.model_validate(
        {
            "data": {"data": data}, "training": training, "drift": dict(drift), "watch": dict(watch),
            "mitigation": {"mitigation": ["none"]},
        }
    )  # fmt: skip


@cache
def warm(data: str, seed: int) -> str:
    """The state of a federation when round 1 begins, as one that all scenarios of a seed go on from."""
    start = _begin(study_of(data, {}, {"detectors": ["combined"]}), data, seed).arm(TWIN).run(until=0)
    return _keep(state_of(start))


_STATES: dict[str, dict[str, Any]] = {}


def _keep(state: dict[str, Any]) -> str:
    name = str(len(_STATES))
    _STATES[name] = {
        key: value for key, value in state.items() if key.split(".")[0] in {"number", "of", "model", "kept"}
    }
    return name


def _begin(study: Study, data: str, seed: int) -> Ready:
    return ready(study, samples_of(data), seed)


def watched(data: str, seed: int, drift: Mapping[str, Any], watch: Mapping[str, Any]) -> Rounds:
    """Fifty rounds of a federation that goes on learning, nothing done about drift."""
    run: Federation = _begin(study_of(data, drift, watch), data, seed).arm(CONTROL)
    fresh = state_of(run)
    return restore(run, fresh | _STATES[warm(data, seed)]).run().rounds()


def _one(job: tuple[Any, ...]) -> tuple[tuple[Any, ...], Rounds]:
    key, args = job
    return key, watched(*args)


def drift_of(kind: str, severity: float) -> dict[str, Any]:
    """One of the seven kinds."""
    name, pattern, affected, _ = KINDS[kind]
    return {
        "drift": name, "pattern": pattern, "severity": severity, "drift_round": ONSET,
        "affected": list(affected or EVERYBODY),
    }  # fmt: skip


def run_all(jobs: Sequence[tuple[Any, ...]]) -> dict[tuple[Any, ...], Rounds]:
    """Every job, two at a time; a line on stderr now and then."""
    found: dict[tuple[Any, ...], Rounds] = {}
    with ProcessPoolExecutor(2) as pool:
        for done, (key, log) in enumerate(pool.map(_one, jobs, chunksize=4), 1):
            found[key] = log
            if done % 20 == 0:
                print(f"{done} of {len(jobs)}", file=sys.stderr, flush=True)
    return found


def detected(data: str) -> Iterator[str]:
    """The table of detectors, by kind, and on federations without drift."""
    watch = {"detectors": list(DETECTORS)}
    jobs = [
        ((kind, level, seed), (data, seed, drift_of(kind, KINDS[kind][3][i]), watch))
        for seed in SEEDS
        for kind in KINDS
        for i, level in enumerate(LEVELS)
    ]
    calm = [(("calm", "", seed), (data, seed, {"drift": "none"}, watch)) for seed in SEEDS]
    found = run_all([*jobs, *calm])
    logs = [found[key] for key, _ in jobs]
    without = [replace(log, drifted=np.zeros(log.rows.shape, bool)) for log in (found[k] for k, _ in calm)]
    scored, controls = usual(logs), detection.controls(without)
    yield from _detectors(scored, controls)
    honest = _population(detection.score(logs), "combined")
    yield (
        "\nBy the truth of each round, in which recurrent drift pauses, the combined detector scores "
        f"F1 {_n(honest['f1'])}, FPR {_n(honest['false_positive_rate'])}: it remembers for some rounds.\n"
    )
    yield "\nF1 of the combined detector by kind and severity, and what drift did to the pooled accuracy:\n"
    yield "| kind | drift | low | middle | high | accuracy before -> after (low, middle, high) |"
    yield "|---|---|---|---|---|---|"
    for kind, (name, pattern, who, severities) in KINDS.items():
        scores, effects = [], []
        for level in LEVELS:
            own = [found[kind, level, seed] for seed in SEEDS]
            scores.append(f"{_population(usual(own), 'combined')['f1']:.3f}")
            before = np.mean([log.pooled[ONSET - 6 : ONSET - 1].mean() for log in own])
            after = np.mean([log.pooled[ONSET - 1 :].mean() for log in own])
            effects.append(f"{before:.3f} -> {after:.3f}")
        said = f"{name}, {pattern}, severity {', '.join(map(str, severities))}" + (
            ", 3 clients" if who else ""
        )
        yield f"| {kind} | {said} | {' | '.join(scores)} | {'; '.join(effects)} |"


def usual(logs: Sequence[Rounds]) -> Table:
    """Scores by the usual truth: every round from the onset on is drifted."""
    return detection.score([detection.since_onset(log) for log in logs])


def _population(scored: Table, name: str) -> dict[str, Any]:
    (row,) = scored.where((scored["detector"] == name) & (scored["scope"] == "population")).rows()
    return row


def _detectors(scored: Table, controls: Table) -> Iterator[str]:
    yield (
        "| detector | F1 [95 %] | precision | recall | FPR | without drift | delay, median | missed | "
        "false per 1000 rounds | F1 of each client |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    clients = {r["detector"]: r["f1"] for r in scored.where(scored["scope"] == "units").rows()}
    calm = {r["detector"]: r["false_share"] for r in controls.where(controls["scope"] == "population").rows()}
    for r in scored.where(scored["scope"] == "population").rows():
        name = r["detector"]
        yield (
            f"| {name} | {_n(r['f1'])} [{_n(r['low_f1'])}, {_n(r['high_f1'])}] | {_n(r['precision'])} | "
            f"{_n(r['recall'])} | {_n(r['false_positive_rate'])} | {_n(calm.get(name, np.nan))} | "
            f"{_n(r['delay'], 0)} | {_n(r['missed_share'])} | {_n(r['false_alarms_per_1000'], 1)} | "
            f"{_n(clients.get(name, np.nan))} |"
        )


def _n(value: float, digits: int = 3) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def curves(data: str) -> Iterator[str]:
    """F1 and false alarms of the combined detector by items, by reference, and by severity."""
    settings = [{"items": items} for items in (50, 100, 200, 500)]
    settings += [{"reference": rounds} for rounds in (5, 10, 20)]
    jobs = [
        (
            (i, kind, level, seed),
            (data, seed, drift_of(kind, KINDS[kind][3][at]), {"detectors": ["combined"], **how}),
        )
        for i, how in enumerate(settings)
        for seed in SEEDS
        for kind in KINDS
        for at, level in enumerate(LEVELS)
    ]
    found = run_all(jobs)
    yield "| items a client and round | rounds of reference | F1 | recall | FPR | median delay | missed |"
    yield "|---|---|---|---|---|---|---|"
    for i, how in enumerate(settings):
        row = _population(usual([log for key, log in found.items() if key[0] == i]), "combined")
        yield (
            f"| {how.get('items', 200)} | {how.get('reference', 10)} | {_n(row['f1'])} | "
            f"{_n(row['recall'])} | {_n(row['false_positive_rate'])} | "
            f"{_n(row['delay'], 0)} | {_n(row['missed_share'])} |"
        )


def smallest(data: str) -> Iterator[str]:
    """From which severity on a drift is noticed within five rounds."""
    jobs = [
        ((kind, severity, seed), (data, seed, drift_of(kind, severity), {"detectors": ["combined"]}))
        for kind in KINDS
        for severity in SWEEP
        for seed in SEEDS
    ]
    found = run_all(jobs)
    yield f"| kind | {' | '.join(f'severity {s:g}' for s in SWEEP)} |"
    yield "|---|" + "---|" * len(SWEEP)
    for kind in KINDS:
        shares = []
        for severity in SWEEP:
            own = [found[kind, severity, seed] for seed in SEEDS]
            shares.append(f"{int(_population(usual(own), 'combined')['hits'])} of {len(SEEDS)}")
        yield f"| {kind} | {' | '.join(shares)} |"


def quiet(data: str) -> Iterator[str]:
    """How often the combined detector is wrong when nothing drifts."""
    jobs = [((seed,), (data, seed, {"drift": "none"}, {"detectors": ["combined"]})) for seed in CALM]
    logs = [replace(log, drifted=np.zeros(log.rows.shape, bool)) for log in run_all(jobs).values()]
    for row in detection.controls(logs).rows():
        if row["detector"] == "combined":
            yield (
                f"- {row['scope']}: {100 * row['false_share']:.2f} % of the rounds had an alarm; "
                f"{100 * row['without']:.1f} % of the series had none"
            )


def mitigated(data: str) -> Iterator[str]:
    """Every mitigation: three of ten clients swap labels in round 25."""
    found = run_arms_of(data)
    table = recovery.recover(found, CONTROL, TWIN)
    yield (
        "| arm | completeness, mean [95 %] | least of 5 seeds | rounds to 0.87 of the loss, each seed | "
        "end, all | drifted clients | stable clients | worst tenth | stable, less no drift |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for arm, logs in found.items():
        own = table.where((table["arm"] == arm) & (table["who"] == "all"))
        whole = {row["quantity"]: row for row in own.rows()}
        each = [completeness(log) for log in logs]
        ends = [
            _quantity(table, arm, who, "end")
            for who in ("all", "drifted units", "stable units", "worst tenth")
        ]
        gap = _quantity(table, arm, "stable units", "end") - _quantity(table, TWIN, "stable units", "end")
        complete = whole["completeness"]
        times = ", ".join("never" if one[1] is None else str(one[1]) for one in each)
        least = min(one[0] for one in each) if arm != TWIN else np.nan
        yield (
            f"| {arm} | {_n(complete['value'])} [{_n(complete['low'])}, {_n(complete['high'])}] | "
            f"{_n(least)} | {times if arm != TWIN else '-'} | "
            f"{' | '.join(_n(e) for e in ends)} | {gap:+.3f} |"
        )


def completeness(log: Rounds) -> tuple[float, int | None]:
    """At the end; and after how many rounds 0.87 of the loss is regained, for three rounds."""
    pooled, onset = log.pooled, ONSET - 1
    before, worst = pooled[onset - 5 : onset].mean(), pooled[onset : onset + 5].min()
    regained = (pooled[onset:] - worst) / (before - worst)
    back = [k for k in range(regained.size - 2) if (regained[k : k + 3] >= 0.87).all()]
    return float(regained[-5:].mean()), back[0] if back else None


def _quantity(table: Table, arm: str, who: str, quantity: str) -> float:
    rows = table.where((table["arm"] == arm) & (table["who"] == who) & (table["quantity"] == quantity))
    return float(rows["value"][0])


def _arm(job: tuple[str, int, str]) -> Rounds:
    data, seed, arm = job
    study = study_of(
        data, {"drift": "label_swap", "severity": 0.6, "drift_round": ONSET, "affected": ["2", "5", "8"]},
        {"detectors": ["combined"]}, epochs=5 if data == "digits" else 2,
    )  # fmt: skip
    study.mitigation.mitigation = list(MITIGATIONS)
    return _begin(study, data, seed).arm(arm).run().rounds()


def run_arms_of(data: str) -> dict[str, list[Rounds]]:
    """Every arm of every seed."""
    arms = (*MITIGATIONS, CONTROL, TWIN)
    with ProcessPoolExecutor(2) as pool:
        logs = list(pool.map(_arm, [(data, seed, arm) for arm in arms for seed in SEEDS]))
    return {arm: logs[i * len(SEEDS) : (i + 1) * len(SEEDS)] for i, arm in enumerate(arms)}


PARTS: Mapping[str, Callable[[str], Iterator[str]]] = {
    "Detection: seven kinds of drift, three severities, five seeds": detected,
    "Mitigation: three of ten clients swap the names of six classes": mitigated,
    "Without drift: sixty federations": quiet,
    "What the combined detector needs": curves,
    "The smallest drift that is noticed within five rounds": smallest,
}
ONLY_DIGITS = (quiet, curves, smallest)


def main(names: list[str]) -> None:
    """Write the page, a part at a time; parts that are there for other data stay."""
    DOCS.mkdir(parents=True, exist_ok=True)
    kept = DOCS / "federation.json"
    pages: dict[str, dict[str, list[str]]] = json.loads(kept.read_text()) if kept.exists() else {}
    wanted = [name for name in names if name not in LIMITS]
    for data in [name for name in names if name in LIMITS] or list(LIMITS):
        for title, part in PARTS.items():
            if (part in ONLY_DIGITS and data != "digits") or (wanted and part.__name__ not in wanted):
                continue
            pages.setdefault(data, {})[title] = list(part(data))
            kept.write_text(json.dumps(pages, indent=1) + "\n")
            (DOCS / "federation.md").write_text(page(pages))
            print(f"{data}: {title}", file=sys.stderr, flush=True)


def page(pages: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """The page of all parts that are there."""
    lines = [HEAD]
    for data, parts in pages.items():
        for title, text in parts.items():
            lines += [f"## {title} ({data})", "", *text, ""]
    return "\n".join(lines).strip() + "\n"


HEAD = """# Federations under drift

Made by `make results`. Everything was chosen on other seeds (below 500); nothing on these.

Ten clients, Dirichlet shares (alpha 1), an MLP with 64 hidden units; 40 rounds of training before round 1,
and training goes on; 50 rounds, drift from round 25 on; 200 items of each client and round, 10 rounds of
reference. Seeds 500 to 504, the same for all. By rounds, as is usual, every round from 25 on counts as
drifted, also the pauses of recurrent drift. The population is seen as drifted when any client is.

The items of a round are drawn with replacement from the client's own test items: some 54 of digits, 300 of
Fashion-MNIST. What a client sees is a small world of its own, and fresh items would say a little less.
"""

if __name__ == "__main__":
    main(sys.argv[1:])
