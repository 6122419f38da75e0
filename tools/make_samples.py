"""Make the bundled predictions: a softmax regression, trained by federated averaging, reads real digits.

The images are the 1,797 handwritten digits that come with scikit-learn (Alpaydin and Kaynak, UCI 1998), each
in exactly one split of one clinic. What is made up is said here: which clinic an image belongs to (unequal
sizes, label skew from a Dirichlet distribution with alpha 1), that a third of the images came through a
handheld scanner (blurred, with noise), and that the scanner of clinic-07 is worn (contrast lost, more noise).

The images themselves are written beside them, as they are: 8 x 8 pixels from 0 to 16, and the digit (UCI
Machine Learning Repository, Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, CC BY 4.0).

    python -m tools.make_samples
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
from sklearn.datasets import load_digits

ROUNDS, STEPS, RATE = 8, 40, 0.6
TARGET = Path(__file__).parents[1] / "src/muster/sources/samples/digits.parquet"
IMAGES = TARGET.with_name("digits-images.parquet")


def main() -> None:
    """Write the files."""
    write_images()
    rng = np.random.default_rng(62)
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8) / 16
    clinic = assign(labels, rng)
    scanner = np.where(rng.random(len(labels)) < 1 / 3, "handheld", "flatbed")
    seen = scan(images, scanner, clinic, rng).reshape(len(labels), -1)
    test = rng.random(len(labels)) < 0.5
    trained = np.isin(clinic, CLINICS)
    test |= ~trained
    rows = []
    weights = np.zeros((65, 10))
    for moment in range(1, ROUNDS + 1):
        weights = average(weights, seen, labels, clinic, ~test)
        scores = predict(weights, seen[test]).astype(np.float32)
        rows.append((np.full(test.sum(), moment), clinic[test], scanner[test], labels[test], scores))
    write([np.concatenate(column) for column in zip(*rows, strict=True)])


CLINICS = [f"clinic-{i:02d}" for i in range(1, 13)]
OTHERS = {"new-1": 0.06, "new-2": 0.04, "test set": 0.14}


def assign(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A clinic for each image."""
    sizes = np.array([3, 2.4, 2, 1.7, 1.5, 1.3, 1.6, 1, 0.9, 0.7, 0.6, 0.5])
    shares = rng.dirichlet(np.ones(10), len(CLINICS)) * sizes[:, None]
    shares += 0.25 * sizes[:, None] / 10
    names, rest = [*CLINICS, *OTHERS], sum(OTHERS.values())
    found = np.empty(len(labels), dtype=object)
    for label in range(10):
        own = shares[:, label] / shares[:, label].sum() * (1 - rest)
        of = np.flatnonzero(labels == label)
        found[of] = rng.choice(names, of.size, p=[*own, *OTHERS.values()])
    return found


def scan(images: np.ndarray, scanner: np.ndarray, clinic: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The images as their scanners gave them."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)), mode="edge")
    blurred = sum(padded[:, i : i + 8, j : j + 8] for i in range(3) for j in range(3)) / 9
    hand = (scanner == "handheld")[:, None, None]
    out = np.where(hand, 0.6 * blurred + 0.4 * images, images) + hand * rng.normal(0, 0.22, images.shape)
    worn = (clinic == "clinic-07")[:, None, None]
    out = np.where(worn, 0.45 + 0.3 * out + rng.normal(0, 0.3, images.shape), out)
    return np.clip(out, 0, 1)


def average(
    weights: np.ndarray, seen: np.ndarray, labels: np.ndarray, clinic: np.ndarray, train: np.ndarray
) -> np.ndarray:
    """One round of federated averaging, weighed by rows."""
    total, rows = np.zeros_like(weights), 0
    for name in CLINICS:
        of = train & (clinic == name)
        x, y = np.c_[seen[of], np.ones(of.sum())], np.eye(10)[labels[of]]
        own = weights.copy()
        for _ in range(STEPS):
            own -= RATE * x.T @ (softmax(x @ own) - y) / len(x)
        total, rows = total + own * len(x), rows + len(x)
    return total / rows


def predict(weights: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Class scores."""
    return softmax(np.c_[seen, np.ones(len(seen))] @ weights)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Scores that sum to one."""
    raised = np.exp(logits - logits.max(1, keepdims=True))
    return raised / raised.sum(1, keepdims=True)


def write(columns: list[np.ndarray]) -> None:
    """One row a prediction."""
    moment, clinic, scanner, labels, scores = columns
    found = {"clinic": clinic, "round": moment, "scanner": scanner, "digit": labels}
    found |= {f"p_{k}": scores[:, k] for k in range(10)}
    with duckdb.connect() as connection:
        connection.register("found", found)
        chosen = "clinic::VARCHAR AS clinic, round::SMALLINT AS round, scanner::VARCHAR AS scanner"
        chosen += ", digit::TINYINT AS digit"
        chosen += "".join(f", round(p_{k}, 4)::FLOAT AS p_{k}" for k in range(10))
        connection.execute(
            f"COPY (SELECT {chosen} FROM found) TO '{TARGET}' (FORMAT parquet, COMPRESSION zstd)"
        )
    print(f"{len(labels):,} rows, {TARGET.stat().st_size:,} bytes: {TARGET}")


def write_images() -> None:
    """One row an image: pixels, row by row, and the digit."""
    images, labels = load_digits(return_X_y=True)
    found = {f"pixel_{i}": images[:, i].astype(np.uint8) for i in range(64)}
    found["label"] = labels.astype(np.uint8)
    with duckdb.connect() as connection:
        connection.register("found", found)
        connection.execute(f"COPY (FROM found) TO '{IMAGES}' (FORMAT parquet, COMPRESSION zstd)")
    print(f"{len(labels):,} rows, {IMAGES.stat().st_size:,} bytes: {IMAGES}")


if __name__ == "__main__":
    main()
