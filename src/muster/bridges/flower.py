"""Flower: write down what every client replies, under any strategy, and what clients are called.

On the server, wrap the strategy; on the clients, say who they are::

    strategy = Watched(FedAvg(min_train_nodes=10), "rounds.jsonl")
    app = ClientApp(mods=[named("partition-id")])

Then ``muster federation evaluate rounds.jsonl``. Flower tells its makers that it is used, unless
``FLWR_TELEMETRY_ENABLED=0`` is set before it is imported; this bridge leaves that as it is.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from muster.errors import BadConfig, MissingExtra

try:
    from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp.typing import ClientAppCallable, Mod
    from flwr.serverapp.strategy import Strategy
except ImportError as error:
    raise MissingExtra("the flower bridge needs Flower: pip install 'muster-eval[flower]'") from error

SIDECAR, UNNAMED, LONGEST = "muster", "unknown", 300
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
Phase: TypeAlias = Literal["train", "evaluate"]
Who: TypeAlias = str | Callable[[Context], object]
Row: TypeAlias = dict[str, str | int | float | None]
Sums: TypeAlias = dict[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back from a node; `error` is what is wrong with it, if anything is."""

    node: int
    unit: str
    metrics: Mapping[str, float] = field(default_factory=dict)
    sums: Sums = field(default_factory=dict)
    error: str | None = None


class Watched(Strategy):
    """Any Flower strategy, which works as before; what clients reply is written down as well.

    One row a client, round and metric goes to `sink`, a file of JSON lines or a list: ``unit``,
    ``round``, ``metric``, ``value``, ``n``, ``phase``, ``node``, ``error``. Metrics of training are
    called ``train/...``. A client that failed, did not answer, or gave no number has rows without
    a value, and the reason in ``error``. `examples` is the metric that counts what is behind the
    others; None if nothing does. ``sums`` holds what clients sent by `report`, by unit and round.

    A client is called what `named` sent, else its node, which is another one in every run. One
    that fails before it was ever heard of is called by its node too.
    """

    def __init__(
        self,
        inner: Strategy,
        sink: str | Path | list[Row],
        *,
        examples: str | None = "num-examples",
        overwrite: bool = False,
    ) -> None:
        self.inner, self.examples = inner, examples
        self.sink = sink if isinstance(sink, list) else _fresh(Path(sink), overwrite=overwrite)
        self.sums: dict[tuple[str, int], Sums] = {}
        self._asked: dict[Phase, set[int]] = {"train": set(), "evaluate": set()}
        self._known: dict[Phase, dict[str, None]] = {"train": {}, "evaluate": {}}
        self._names: dict[int, str] = {}

    def __getattr__(self, name: str) -> Any:
        """What else the strategy has that is wrapped."""
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def log(self) -> Path | dict[str, list[Any]]:
        """What `muster.suites.federation.evaluate` takes: the file, or the rows as columns."""
        if isinstance(self.sink, Path):
            return self.sink
        return {name: [row[name] for row in self.sink] for name in (self.sink[0] if self.sink else ())}

    def summary(self) -> None:
        """That of the strategy."""
        self.inner.summary()

    def configure_train(self, *given: Any, **also: Any) -> list[Message]:
        """As the strategy does; who is asked is remembered."""
        return self._ask("train", self.inner.configure_train(*given, **also))

    def configure_evaluate(self, *given: Any, **also: Any) -> list[Message]:
        """As the strategy does; who is asked is remembered."""
        return self._ask("evaluate", self.inner.configure_evaluate(*given, **also))

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Write down the replies, then do as the strategy does."""
        return self.inner.aggregate_train(server_round, self._note("train", server_round, replies))

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Write down the replies, then do as the strategy does."""
        return self.inner.aggregate_evaluate(server_round, self._note("evaluate", server_round, replies))

    def _ask(self, phase: Phase, messages: Iterable[Message]) -> list[Message]:
        listed = list(messages)
        self._asked[phase] = {message.metadata.dst_node_id for message in listed}
        return listed

    def _note(self, phase: Phase, number: int, replies: Iterable[Message]) -> list[Message]:
        listed = list(replies)
        answers = [answer_of(reply, self._names) for reply in listed]
        silent = self._asked[phase] - {answer.node for answer in answers}
        self._asked[phase] = set()
        answers += [
            Answer(node=node, unit=self._names.get(node, str(node)), error="no reply")
            for node in sorted(silent)
        ]
        answers = apart(answers)
        for answer in answers:
            if answer.sums:
                named = {_metric(phase, name): value for name, value in answer.sums.items()}
                self.sums.setdefault((answer.unit, number), {}).update(named)
        self._write(rows_of(answers, self._known[phase], (phase, number), self.examples))
        return listed

    def _write(self, rows: list[Row]) -> None:
        if isinstance(self.sink, list):
            self.sink += rows
            return
        with self.sink.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def named(who: Who = "partition-id") -> Mod:
    """A mod that says what a client is called: by a key of its node's configuration, or by a function.

    In simulation nodes have a ``partition-id``; those that are deployed can be given a name of their
    own: ``flower-supernode --node-config 'clinic="north"'``.

    >>> callable(named("clinic"))
    True
    """
    return partial(_named, who)


def report(content: RecordDict, /, **sums: ArrayLike) -> RecordDict:
    """Put sums into a client's reply: counts of groups, a confusion matrix, anything that adds.

    They go beside the metrics, where strategies leave them alone.

    >>> content = report(RecordDict(), confusion=[[5, 1], [0, 4]])
    >>> sums_of(content)["confusion"].tolist()
    [[5.0, 1.0], [0.0, 4.0]]
    """
    sidecar = content.config_records.get(SIDECAR, ConfigRecord())
    for name, value in sums.items():
        array = np.asarray(value, "<f8")
        sidecar[f"sum:{name}"], sidecar[f"shape:{name}"] = array.tobytes(), list(array.shape)
    content[SIDECAR] = sidecar
    return content


def sums_of(content: RecordDict) -> Sums:
    """The sums that `report` put there."""
    record: Mapping[str, Any] = content.config_records.get(SIDECAR) or {}
    names = [key.removeprefix("sum:") for key in record if key.startswith("sum:")]
    found = {name: np.frombuffer(record[f"sum:{name}"], "<f8").astype(float) for name in names}
    return {name: array.reshape(record[f"shape:{name}"]) for name, array in found.items()}


def answer_of(reply: Message, names: dict[int, str]) -> Answer:
    """What a message says; `names` are those of nodes so far, and learns."""
    node = reply.metadata.src_node_id
    if not reply.has_content():
        return Answer(node=node, unit=names.get(node, str(node)), error=_reason(reply))
    record: Mapping[str, Any] = reply.content.config_records.get(SIDECAR) or {}
    if isinstance(record.get("unit"), str) and record["unit"]:
        names[node] = record["unit"]
    found = Answer(node=node, unit=names.get(node, str(node)), metrics=_metrics(reply.content))
    try:
        return replace(found, sums=sums_of(reply.content))
    except (KeyError, TypeError, ValueError) as error:
        return replace(found, error=f"its sums cannot be read: {error}")


def apart(answers: list[Answer]) -> list[Answer]:
    """Nodes that say the same name in one round are told apart by their numbers.

    >>> [one.unit for one in apart([Answer(node=n, unit=u) for n, u in ((1, "a"), (2, "b"), (3, "a"))])]
    ['a (node 1)', 'b', 'a (node 3)']
    """
    times = Counter(one.unit for one in answers)
    return [
        replace(one, unit=f"{one.unit} (node {one.node})") if times[one.unit] > 1 else one for one in answers
    ]


def rows_of(
    answers: list[Answer], known: dict[str, None], where: tuple[Phase, int], examples: str | None
) -> list[Row]:
    """A row for each client and metric that any has told so far; `known` are these, and learns.

    >>> rows = rows_of([Answer(node=7, unit="a", metrics={"accuracy": math.nan, "n": 3})], {},
    ...                ("evaluate", 1), "n")
    >>> rows[0]["value"], rows[0]["error"]
    (None, 'accuracy is nan, of 3 examples')
    """
    phase, number = where
    known |= dict.fromkeys(name for answer in answers for name in answer.metrics if name != examples)
    rows: list[Row] = []
    for answer in answers:
        for name in known or ((UNNAMED,) if answer.error else ()):
            value, why = _value(answer, name, examples)
            row: Row = {"unit": answer.unit, "round": number, "metric": _metric(phase, name), "value": value}
            if examples is not None:
                row["n"] = _count(answer.metrics.get(examples))
            rows.append({**row, "phase": phase, "node": str(answer.node), "error": why or answer.error})
    return rows


def _reason(reply: Message) -> str:
    """Why a reply has no content, in one line; of a long trace its end, which says most."""
    if not reply.has_error():
        return "empty reply"
    said = " ".join(COLOUR.sub("", reply.error.reason or f"error {reply.error.code}").split())
    return said if len(said) <= LONGEST else f"... {said[-LONGEST:]}"


def _value(answer: Answer, name: str, examples: str | None) -> tuple[float | None, str | None]:
    """A number that can be counted on, or none and why."""
    value, n = answer.metrics.get(name), answer.metrics.get(examples or "")
    if value is None:
        return None, answer.error or f"no {name} in the reply"
    if math.isfinite(value) and (examples is None or _count(n)):
        return float(value), None
    of = "" if examples is None else f", of {'unsaid' if n is None else f'{n:g}'} examples"
    return None, f"{name} is {value:g}{of}"


def _count(n: float | None) -> int | None:
    """A number of examples, if it is one."""
    return int(n) if n is not None and n >= 0 and float(n).is_integer() else None


def _metric(phase: Phase, name: str) -> str:
    return f"train/{name}" if phase == "train" else name


def _metrics(content: RecordDict) -> dict[str, float]:
    """All numbers of a reply: of a list each, of a second record with its name where that is needed."""
    found: dict[str, float] = {}
    for holder, record in content.metric_records.items():
        each = {
            f"{key}[{i}]" if isinstance(value, list) else key: one
            for key, value in record.items()
            for i, one in enumerate(value if isinstance(value, list) else [value])
        }
        found |= {f"{holder}.{key}" if key in found else key: value for key, value in each.items()}
    return found


def _named(who: Who, message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    if isinstance(who, str) and who not in context.node_config:
        there = ", ".join(context.node_config) or "nothing"
        raise BadConfig(f"the node's configuration has no {who!r}; it has: {there}")
    name = context.node_config[who] if isinstance(who, str) else who(context)
    reply = call_next(message, context)
    if reply.has_content():
        report(reply.content).config_records[SIDECAR]["unit"] = str(name)
    return reply


def _fresh(path: Path, *, overwrite: bool) -> Path:
    """An empty file; one that is there is not lost by accident."""
    if path.exists() and path.stat().st_size and not overwrite:
        raise BadConfig(f"{path} is there already: name another file, or say overwrite=True")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("", encoding="utf-8")
    return path
