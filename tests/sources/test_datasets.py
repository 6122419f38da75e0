"""Data to learn from: what comes by name and by path, and what is said of data that cannot be used."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from muster.errors import BadConfig, BadData, UnknownName
from muster.sources import idx
from muster.sources.datasets import dataset
from muster.sources.words import corpus, hashed, tokens

FASHION = next((Path(place) for place in idx.KNOWN if Path(place).expanduser().is_dir()), None)


def _idx(values: NDArray[np.uint8], magic: int | None = None) -> bytes:
    head = 0x800 + values.ndim if magic is None else magic
    return struct.pack(f">{1 + values.ndim}I", head, *values.shape) + values.tobytes()


def _write(folder: Path, *, sides: tuple[int, int] = (28, 28), end: str = ".gz", mark: str = "") -> Path:
    """Twelve images to train on, ten to test on; each image is full of its number."""
    folder.mkdir(exist_ok=True)
    for part, start, items in (("train", 0, 12), ("t10k", 12, 10)):
        numbers = np.arange(start, start + items, dtype=np.uint8)
        images = np.broadcast_to(numbers[:, None, None], (items, *sides)).copy()
        for kind, values in (("images-idx3", images), ("labels-idx1", numbers % 10)):
            data = _idx(values)
            packed = gzip.compress(data, mtime=0) if end else data
            (folder / f"{mark}{part}-{kind}-ubyte{end}").write_bytes(packed)
    return folder


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Fashion-MNIST."""
    monkeypatch.setattr(idx, "KNOWN", (str(tmp_path / "nowhere"),))
    monkeypatch.delenv("MUSTER_DATA", raising=False)
    return tmp_path


def test_digits_are_those_of_scikit_learn() -> None:
    x, y = load_digits(return_X_y=True)
    found = dataset("digits")

    assert found.x.dtype == np.float32
    assert np.array_equal(found.x, (x / 16).astype(np.float32))
    assert np.array_equal(found.y, y)
    assert found.shape == (8, 8)
    assert found.classes == tuple("0123456789")
    assert found.nature == "image"


def test_a_fingerprint_is_of_the_items() -> None:
    assert dataset("digits").fingerprint == "8b3b6ae90863430b"
    assert dataset("digits", limit=1796).fingerprint != dataset("digits", limit=1797).fingerprint


def test_a_limit_takes_the_same_items_always() -> None:
    few, more = dataset("digits", limit=50), dataset("digits", limit=60)

    assert len(few) == 50
    assert np.array_equal(few.x, more.x[:50])
    assert few.fingerprint == dataset("digits", limit=50).fingerprint
    assert few.classes == dataset("digits").classes
    assert len(set(few.y.tolist())) > 5
    assert len(dataset("digits", limit=9999)) == 1797
    for limit in (0, -1, 2.5, True):
        with pytest.raises(BadConfig, match="limit: expected a whole number of items, 1 or more, got"):
            dataset("digits", limit=limit)  # type: ignore[arg-type]


def test_unknown_names_are_told_from_places_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"'digit'; did you mean 'digits'\?; known: .*, text, or a path"):
        dataset("digit")
    for place in (tmp_path / "digit", str(tmp_path / "digit"), "digit.csv", "none/*.parquet"):
        with pytest.raises(BadData, match=r"(digit|parquet).*: no such file, folder or pattern"):
            dataset(place)
    with pytest.raises(BadConfig, match="digits: label, unit is for tables"):
        dataset("digits", label="a", unit="b")


@pytest.mark.parametrize("end", [".gz", ""])
def test_fashion_mnist_is_found_in_a_folder_that_is_named(
    end: str, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(alone / "fashion-mnist", end=end)
    for place in (alone, alone / "fashion-mnist"):
        monkeypatch.setenv("MUSTER_DATA", str(place))
        found = dataset("fashion-mnist")

        assert len(found) == 22
        assert found.shape == (28, 28)
        assert np.array_equal(found.x[:, 0], (np.arange(22) / np.float32(255)).astype(np.float32))
        assert found.y.tolist() == [*range(10), 0, 1, 2, 3, *range(4, 10), 0, 1]
        assert found.classes[0] == "T-shirt/top"
        assert found.classes[-1] == "Ankle boot"


def test_without_fashion_mnist_it_is_said_where_to_get_it(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_DATA", str(alone))
    (_write(alone) / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(BadData) as said:
        dataset("fashion-mnist")
    for words in (
        "t10k-labels-idx1-ubyte",
        "train-images-idx3-ubyte",
        f"looked in {alone / 'fashion-mnist'}, {alone}, {alone / 'nowhere'}",
        "apt-get install dataset-fashion-mnist",
        "MUSTER_DATA",
    ):
        assert words in str(said.value)


def test_another_set_is_not_taken_for_fashion_mnist(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_DATA", str(_write(alone, sides=(4, 5))))
    with pytest.raises(BadData, match="Fashion-MNIST is 10 classes of 28 x 28 pixels, which this is not"):
        dataset("fashion-mnist")


@pytest.mark.skipif(FASHION is None, reason="Fashion-MNIST is not installed: dataset-fashion-mnist of Debian")
def test_the_real_fashion_mnist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MUSTER_DATA", raising=False)
    found = dataset("fashion-mnist")

    assert found.x.shape == (70_000, 784)
    assert np.bincount(found.y).tolist() == [7000] * 10
    assert [found.classes[k] for k in found.y[:3]] == ["Ankle boot", "T-shirt/top", "T-shirt/top"]
    assert (found.x.min(), found.x.max()) == (0, 1)


def test_a_folder_of_any_set_of_the_kind(tmp_path: Path) -> None:
    found = dataset(_write(tmp_path / "letters", sides=(4, 5), mark="emnist-"))

    assert (found.name, found.shape, len(found)) == ("letters", (4, 5), 22)
    assert found.classes == tuple("0123456789")
    for file in (tmp_path / "letters").glob("*t10k*"):
        file.unlink()

    assert len(dataset(tmp_path / "letters")) == 12
    with pytest.raises(BadData, match="images and labels are in several files: give their folder"):
        dataset(tmp_path / "letters" / "emnist-train-images-idx3-ubyte.gz")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("train-images-idx3-ubyte", b"", "truncated: 0 bytes, and its head alone has 16"),
        (
            "train-images-idx3-ubyte",
            _idx(np.zeros((12, 28, 28), np.uint8))[:-1],
            "truncated: its head says 12 x 28 x 28 = 9,408 bytes, there are 9,407",
        ),
        ("train-images-idx3-ubyte", _idx(np.zeros((12, 28, 28), np.uint8)) + b"x", "too long: "),
        (
            "train-images-idx3-ubyte",
            _idx(np.zeros((0, 28, 28), np.uint8)),
            "empty: its head says 0 x 28 x 28",
        ),
        (
            "train-images-idx3-ubyte",
            _idx(np.zeros((12, 28, 28), np.uint8), 0xD03),
            "0x00000d03, not 0x00000803",
        ),
        ("train-labels-idx1-ubyte", _idx(np.zeros((12, 1, 1), np.uint8)), "no IDX file of labels"),
        (
            "train-labels-idx1-ubyte",
            _idx(np.zeros(11, np.uint8)),
            "12 images in .*, 11 labels in train-labels",
        ),
        (
            "t10k-images-idx3-ubyte",
            _idx(np.zeros((10, 9, 9), np.uint8)),
            "28 x 28 pixels in .*, of 9 x 9 in t10k",
        ),
        ("train-images-idx3-ubyte.gz", gzip.compress(b"abc" * 99, mtime=0)[:-9], "cannot be read"),
        ("train-images-idx3-ubyte.gz", b"no gzip", "cannot be read"),
        ("test-labels-idx1-ubyte", b"", "test-labels-idx1-ubyte is there without its images"),
        ("other-train-images-idx3-ubyte", b"", "more than one set: ..., other-"),
    ],
)
def test_broken_idx_files_are_named(name: str, data: bytes, said: str, tmp_path: Path) -> None:
    _write(tmp_path, end="")
    (tmp_path / name.removesuffix(".gz")).unlink(missing_ok=True)
    (tmp_path / name).write_bytes(data)
    with pytest.raises(BadData, match=said):
        dataset(tmp_path)


def test_the_made_up_texts_are_always_the_same() -> None:
    found = dataset("text")

    assert found.fingerprint == "5c2cc5bf5336dd62"
    assert found.x.shape == (6000, 512)
    assert np.bincount(found.y).tolist() == [300] * 20
    assert np.allclose((found.x**2).sum(axis=1), 1)
    texts, _ = corpus()
    lengths = [len(text.split()) for text in texts]
    words = {word for text in texts for word in tokens(text)}

    assert (min(lengths), max(lengths)) == (20, 80)
    assert 2500 < len(words) <= 3000


def test_a_linear_model_reads_nine_of_ten_made_up_texts() -> None:
    found = dataset("text")
    order = np.random.default_rng(0).permutation(len(found))
    learn, held = order[:4800], order[4800:]
    model = LogisticRegression(max_iter=300).fit(found.x[learn], found.y[learn])

    assert 0.85 < model.score(found.x[held], found.y[held]) < 0.93


def test_words_are_hashed_the_same_on_every_machine() -> None:
    found = hashed(["the cat, the CAT!", "", "Äpfel don't"])

    assert tokens("Äpfel don't 'quote' x_y 3.5") == ["äpfel", "don't", "quote", "x", "y", "3", "5"]
    assert np.flatnonzero(found[0]).tolist() == [424, 486]
    assert found[0, [424, 486]] == pytest.approx([0.5**0.5] * 2)
    assert not found[1].any()
    assert (found[2] > 0).sum() == 2


def _csv(folder: Path, text: str) -> Path:
    (folder / "some.csv").write_text(text)
    return folder / "some.csv"


@pytest.mark.parametrize("label", ["label", "class", "topic"])
def test_a_table_with_text(label: str, tmp_path: Path) -> None:
    place = _csv(
        tmp_path, f'id,text,{label},site\n1,"Cats, ""dogs""",pets,x\n2,Rain,weather,y\n3,Sun,weather,x\n'
    )
    found = dataset(place, label=label if label == "topic" else None, unit="site")

    assert (found.name, found.nature) == ("some", "text")
    assert found.classes == ("pets", "weather")
    assert found.y.tolist() == [0, 1, 1]
    assert np.array_equal(found.x, hashed(["cats dogs", "rain", "sun"]))
    assert found.unit is not None
    assert found.unit.tolist() == ["x", "y", "x"]


def test_a_table_without_a_header_is_asked_by_place(tmp_path: Path) -> None:
    news = '"3","Fears","Unions, ""said"""\n"10","Race","Space"\n"3","Ky","Peptides"\n'
    found = dataset(_csv(tmp_path, news), text="2", label="0")

    assert found.classes == ("3", "10")
    assert found.y.tolist() == [0, 1, 0]
    assert np.array_equal(found.x, hashed(["unions said", "space", "peptides"]))
    with pytest.raises(BadData, match=r"no column '7' \(label\); there are: 0, 1, 2"):
        dataset(tmp_path / "some.csv", label="7")
    named = dataset(_csv(tmp_path, "0,1,2\n5,1,a\n6,2,b\n7,3,b\n"), label="2")

    assert len(named) == 3
    for first in ("5,1,0", "0,1,0", "0,1.5,2"):
        assert len(dataset(_csv(tmp_path, f"{first}\n6,2,1\n7,3,1\n"), label="2")) == 3
    years = dataset(_csv(tmp_path, "a,2019\n5,1\n6,2\n7,1\n"), label="2019")

    assert years.x.shape == (3, 1)


def test_folders_may_name_the_unit_of_a_table_without_a_header(tmp_path: Path) -> None:
    for site, rows in (("b", "1,0\n2,1\n"), ("a", "3,0\n4,1\n5,1\n")):
        (tmp_path / f"site={site}").mkdir()
        _csv(tmp_path / f"site={site}", rows)
    found = dataset(tmp_path, label="1", unit="site")

    assert found.x.shape == (5, 1)
    assert found.unit is not None
    assert found.unit.tolist() == ["a", "a", "a", "b", "b"]


FRAME = {"a": [1.0, 2.0, 3.0, 6.0], "b": [5, 5, 5, 5], "f": [True, False, True, True], "label": [1, 0, 10, 0]}


def _written(folder: Path, columns: dict[str, Any], kind: str) -> Path:
    frame, place = pl.DataFrame(columns), folder / f"some.{kind}"
    match kind:
        case "csv":
            frame.write_csv(place)
        case "parquet":
            frame.write_parquet(place)
        case _:
            frame.write_ipc(place, compat_level=pl.CompatLevel.oldest())
    return place


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_numbers_are_standardised(kind: str, tmp_path: Path) -> None:
    found = dataset(_written(tmp_path, FRAME, kind))

    assert found.nature == "table"
    assert found.classes == ("0", "1", "10")
    assert found.y.tolist() == [1, 0, 2, 0]
    assert found.x.dtype == np.float32
    assert found.x.mean(axis=0) == pytest.approx([0, 0, 0], abs=1e-6)
    assert found.x.std(axis=0) == pytest.approx([1, 0, 1], abs=1e-6)
    assert found.x[:, 0] == pytest.approx(np.array([-2, -1, 0, 3]) / 3.5**0.5)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_missing_numbers_are_counted_or_filled_in_where_that_is_asked(kind: str, tmp_path: Path) -> None:
    place = _written(
        tmp_path, FRAME | {"a": [None, 2.0, None, 6.0], "c": [1.0, float("nan"), 2.0, 3.0]}, kind
    )
    with pytest.raises(BadData, match=r"missing \(of 4 rows\): 'a' 2, 'c' 1; missing='mean' puts the mean"):
        dataset(place)
    found = dataset(place, missing="mean")

    assert found.x[:, 0] == pytest.approx(np.array([0, -1, 0, 1]) * 2**0.5)
    with pytest.raises(BadConfig, match="missing: expected 'mean' or nothing, got 'zero'"):
        dataset(place, missing="zero")  # type: ignore[arg-type]
    never = FRAME | {"c": pl.Series([None] * 4, dtype=pl.Float64)}
    with pytest.raises(BadData, match="no number at all in 'c'"):
        dataset(_written(tmp_path, never, kind), missing="mean")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_that_are_no_numbers_are_named(kind: str, tmp_path: Path) -> None:
    texts = FRAME | {"job": ["1", "2", "Smith", "Baker"], "city": ["Ulm", "Bonn", None, ""]}
    with pytest.raises(BadData, match=r"something else: 'job' \('Smith'\), 'city' \('Ulm'\); name them as"):
        dataset(_written(tmp_path, texts, kind))
    with pytest.raises(BadData, match="infinite numbers in 'a'"):
        dataset(_written(tmp_path, FRAME | {"a": [1.0, 2.0, float("inf"), 4.0]}, kind))


def test_a_number_that_comes_late_and_a_question_mark_are_seen(tmp_path: Path) -> None:
    rows = 30_000
    text = "\n".join(f"{i % 7},{i % 2}" for i in range(rows))
    found = dataset(_csv(tmp_path, f"a,label\n{text}\n2.5,0\n"))

    assert len(found) == rows + 1
    with pytest.raises(BadData, match=r"'a' \('x'\)"):
        dataset(_csv(tmp_path, f"a,label\n{text}\nx,0\n"))
    with pytest.raises(BadData, match=r"numbers are missing .* 'a' 1;"):
        dataset(_csv(tmp_path, f"a,label\n{text}\n?,0\n"))


@pytest.mark.parametrize(
    ("changed", "how", "said"),
    [
        ({}, {"label": "lable"}, r"no column 'lable' \(label\); did you mean 'label'\?; there are: a, b, f"),
        ({}, {"unit": "sit"}, r"no column 'sit' \(unit\); there are"),
        ({}, {"text": "tex"}, r"no column 'tex' \(text\); there are"),
        ({"class": [1, 2, 1, 2]}, {}, "which column is the class .* both 'label' and 'class' are there"),
        ({"label": [1, None, 0, 0]}, {}, "'label' has no value in 1 of 4 rows; the first is row 1"),
        ({"label": ["1", "?", "0", "0"]}, {}, "'label' has no value in 1 of 4 rows; the first is row 1"),
        ({"label": [0.1, 0.2, 0.3, 0.3]}, {}, r"'label' holds numbers like '0\.1', which are no classes"),
        ({"label": [1, 1, 1, 1]}, {}, "has only one class, 1"),
        ({"label": ["a", "b", "c", "d"]}, {}, "has a class of its own for each row"),
        ({"text": ["a", None, "c", "d"]}, {}, "'text' has no value in 1 of 4 rows"),
        ({"site": ["a", None, "c", "d"]}, {"unit": "site"}, "'site' has no value in 1 of 4 rows"),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_that_cannot_be_used(
    changed: dict[str, Any], how: dict[str, Any], said: str, kind: str, tmp_path: Path
) -> None:
    with pytest.raises(BadData, match=said):
        dataset(_written(tmp_path, FRAME | changed, kind), **how)


def test_tables_without_classes_features_or_rows(tmp_path: Path) -> None:
    for text, said in (
        ("a,b\n1,2\n", r"which column is the class \(label=\)\? neither 'label' nor 'class' is there"),
        ("label\nx\ny\nx\n", "no column is left for the features"),
        ("a,label\n", "no rows: there is nothing to learn from"),
        ("", "the file is empty"),
    ):
        with pytest.raises(BadData, match=said):
            dataset(_csv(tmp_path, text))
    place = _written(tmp_path, FRAME, "csv")
    with pytest.raises(BadConfig, match="label, text and unit must be different columns"):
        dataset(place, unit="label")


def test_whole_numbers_written_with_a_point_are_the_same_classes(tmp_path: Path) -> None:
    found = dataset(_csv(tmp_path, "a,label\n1,1.0\n2,0\n3,1\n4,-1\n"))

    assert found.classes == ("-1", "0", "1")
    assert found.y.tolist() == [2, 1, 2, 0]
