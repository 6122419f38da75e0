"""The rules of the house: ceilings, names, exports, and what an import costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "muster"
MODULES = sorted(SOURCE.rglob("*.py"))
FORBIDDEN = {"utils", "helpers", "common", "base", "manager", "handler", "engine", "core"}
FRAMEWORKS = {
    "torch", "pandas", "polars", "pyarrow", "sklearn", "numba", "altair", "vl_convert", "jinja2",
    "river", "flwr", "ray",
}  # fmt: skip
HEAVY = FRAMEWORKS | {"numpy", "scipy", "duckdb", "pydantic", "rich", "cyclopts"}
LINES, FUNCTION, METHODS, DEPTH, NAMES, CPU = 300, 40, 8, 3, 40, 0.5

each_module = pytest.mark.parametrize(
    "file", MODULES, ids=lambda file: file.relative_to(SOURCE).as_posix() if isinstance(file, Path) else file
)


def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _functions(file: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(_tree(file)) if isinstance(node, ast.FunctionDef)]


@each_module
def test_a_module_is_short_and_says_what_it_is(file: Path) -> None:
    text = file.read_text(encoding="utf-8")

    assert len(text.splitlines()) <= LINES
    assert ast.get_docstring(_tree(file)) or not text.strip()


@each_module
def test_a_function_is_short(file: Path) -> None:
    def length(function: ast.FunctionDef) -> int:
        body = function.body[1:] if ast.get_docstring(function) else function.body
        return body[-1].end_lineno - body[0].lineno + 1 if body else 0

    assert [f.name for f in _functions(file) if length(f) > FUNCTION] == []


@each_module
def test_what_is_public_has_a_docstring(file: Path) -> None:
    kinds = (ast.FunctionDef, ast.ClassDef)
    top = [node for node in _tree(file).body if isinstance(node, kinds)]
    inner = [node for holder in top if isinstance(holder, ast.ClassDef) for node in holder.body]
    public = [node for node in [*top, *inner] if isinstance(node, kinds) and not node.name.startswith("_")]

    assert [node.name for node in public if not ast.get_docstring(node)] == []


@each_module
def test_a_class_has_few_public_methods(file: Path) -> None:
    crowded = [
        node.name
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.ClassDef)
        and sum(isinstance(m, ast.FunctionDef) and not m.name.startswith("_") for m in node.body) > METHODS
    ]

    assert crowded == []


@each_module
def test_a_module_has_a_room_and_a_name(file: Path) -> None:
    place = file.relative_to(SOURCE)

    assert len(place.parts) - 1 <= DEPTH
    assert not {*place.parts[:-1], place.stem} & FORBIDDEN


@each_module
def test_exports_exist_and_are_sorted(file: Path) -> None:
    parts = file.relative_to(SOURCE.parent).with_suffix("").parts
    module = import_module(".".join(part for part in parts if part != "__init__"))
    exported = list(getattr(module, "__all__", []))

    assert [name for name in exported if not hasattr(module, name)] == []
    assert exported == sorted(exported, key=_by_kind)


def _by_kind(name: str) -> tuple[int, str]:
    """Constants, classes, the rest: as ruff sorts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_the_front_door_is_narrow() -> None:
    import muster

    assert len(muster.__all__) <= NAMES
    assert set(muster._HOME) == set(muster.__all__)


def test_importing_muster_loads_nothing_heavy_and_costs_little() -> None:
    seen = "import time, sys; import muster; print(time.process_time()); print(*sys.modules)"
    cost, modules = _python(seen)

    assert {name.partition(".")[0] for name in modules.split()} & HEAVY == set()
    assert float(cost) < CPU


@pytest.mark.parametrize("name", ["evaluate", "Run", "CATALOG", "load", "kernels"])
def test_using_muster_loads_no_framework(name: str) -> None:
    _, modules = _python(f"import sys, muster; muster.{name}; print(); print(*sys.modules)")

    assert {m.partition(".")[0] for m in modules.split()} & FRAMEWORKS == set()


def test_nothing_names_a_machine() -> None:
    root = SOURCE.parents[1]
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True)
    texts = [root / name for name in listed.stdout.split() if not name.endswith((".parquet", ".png"))]
    words = ("/" + "work/", "/" + "root/", "/" + "tmp/b", "pyp" + "i-more")

    assert [file for file in texts if any(word in file.read_text(encoding="utf-8") for word in words)] == []


def _python(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()
