"""What drift does to items: the features change, the shares of the classes, or what is called what.

`severity` is between 0 and 1 for every kind; `KINDS` says what 1 means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.special import ndtri

from muster.errors import BadConfig, nearest
from muster.kernels.types import Floats
from muster.records import Features, Nature, Samples
from muster.systems.federation.seeds import generator, uniform

Family: TypeAlias = Literal["covariate", "prior", "concept"]
Labels: TypeAlias = NDArray[np.int64]
Change: TypeAlias = Callable[["Items", Floats, int], Any]
NOISE, BLUR, TURN, CONTRAST, TILT = 0.5, 1.5, 45.0, 0.8, 3.0


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """Some items: their features, classes, and places in the data set, by which randomness is drawn."""

    x: Features
    y: Labels
    place: NDArray[np.int64]
    of: Samples


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of drift: what it changes, for which data, what severity 1 means, and how it is done."""

    family: Family
    natures: tuple[Nature, ...]
    means: str
    change: Change


def kind_of(name: str, samples: Samples) -> Kind:
    """The kind of that name, if it can be done to these items."""
    if name not in KINDS:
        raise BadConfig(f"no drift {name!r}{nearest(name, KINDS)}; known: {', '.join(KINDS)}")
    kind = KINDS[name]
    if samples.nature not in kind.natures:
        fit = [other for other, one in KINDS.items() if samples.nature in one.natures]
        raise BadConfig(
            f"{name} is drift of {' or '.join(kind.natures)}, {samples.name} is {samples.nature}; "
            f"for it there are {', '.join(fit)}"
        )
    return kind


def _noise(items: Items, severity: Floats, seed: int) -> Features:
    """Normal noise: standard deviation 0.5 for images, 1 else (features of a table have 1)."""
    drawn = _normals(seed, items)
    if items.of.nature == "image":
        return _within(items.x + drawn * (NOISE * severity[:, None]))
    return np.asarray(items.x + drawn * severity[:, None], np.float32)


def _normals(seed: int, items: Items) -> Floats:
    """One row of noise an item, the same whenever that item is seen."""
    return np.asarray(ndtri(uniform(seed, "noise", items.place[:, None], np.arange(items.x.shape[1]))))


def _blur(items: Items, severity: Floats, _: int) -> Features:
    """A mixture of each image and its blur: a little severity is a little blur."""
    sides = np.array(items.of.shape or (1, 1))
    images = items.x.reshape(-1, *sides)
    blurred = ndimage.gaussian_filter(images, (0, *(BLUR * sides / 8)), mode="nearest").reshape(items.x.shape)
    return _within(items.x + severity[:, None] * (blurred - items.x))


def _rotation(items: Items, severity: Floats, _: int) -> Features:
    def one(images: Features, amount: float) -> Features:
        return np.asarray(
            ndimage.rotate(images, TURN * amount, axes=(1, 2), reshape=False, order=1, mode="nearest")
        )

    return _by_severity(items, severity, one)


def _by_severity(items: Items, severity: Floats, change: Callable[[Features, float], Features]) -> Features:
    """Images of equal severity are changed together."""
    found = items.x.copy()
    shape = items.of.shape or (1, items.x.shape[1])
    for amount in np.unique(severity[severity > 0]).tolist():
        rows = severity == amount
        images = items.x[rows].reshape(-1, *shape)
        found[rows] = _within(change(images, amount)).reshape(images.shape[0], -1)
    return found


def _contrast(items: Items, severity: Floats, _: int) -> Features:
    """Towards the mean of each image: of the classes nothing is lost but strength."""
    middle = items.x.mean(1, keepdims=True)
    return np.asarray(middle + (items.x - middle) * (1 - CONTRAST * severity[:, None]), np.float32)


def _brightness(items: Items, severity: Floats, _: int) -> Features:
    return _within(items.x + 0.5 * severity[:, None])


def _scale(items: Items, severity: Floats, _: int) -> Features:
    return np.asarray(items.x * (1 + severity[:, None]), np.float32)


def _shift(items: Items, severity: Floats, seed: int) -> Features:
    """Along one direction, drawn once: as far as two standard deviations of a feature."""
    direction = generator(seed, "direction").standard_normal((1, items.x.shape[1]))
    direction *= 2 / np.sqrt((direction**2).mean())
    return np.asarray(items.x + severity[:, None] * direction, np.float32)


def _vocabulary(items: Items, severity: Floats, seed: int) -> Features:
    """A share of the words is replaced by others: each by one and the same, in all texts."""
    found = items.x.copy()
    order = generator(seed, "words").permutation(items.x.shape[1])
    for amount in np.unique(severity[severity > 0]).tolist():
        rows, words = np.flatnonzero(severity == amount), np.sort(order[: round(amount * order.size)])
        found[np.ix_(rows, np.roll(words, 1))] = items.x[np.ix_(rows, words)]
    return found


def _class_share(items: Items, severity: Floats, seed: int) -> Labels:
    """Places in `items` to take instead: half of the classes become up to e^3 times as frequent.

    Taken in even steps through the weights (systematic resampling): a little severity changes little.
    """
    classes, many = len(items.of.classes), len(items.y)
    lean = np.where(generator(seed, "classes").permutation(classes) < classes / 2, 0.5, -0.5)
    weight = np.exp(TILT * severity * lean[items.y])
    edges = np.cumsum(weight / weight.sum())
    taken = np.searchsorted(edges, (np.arange(many) + 0.5) / many, side="right")
    return np.asarray(np.minimum(taken, many - 1))


def _label_swap(items: Items, severity: Floats, seed: int) -> Labels:
    """Classes in pairs that exchange their names: of all classes, the share that severity says."""
    classes = len(items.of.classes)
    order = generator(seed, "pairs").permutation(classes)
    other, rank = np.arange(classes), np.empty(classes)
    for pair in range(classes // 2):
        a, b = order[2 * pair], order[2 * pair + 1]
        other[a], other[b] = b, a
        rank[[a, b]] = pair
    rank[order[2 * (classes // 2) :]] = classes
    pairs = np.maximum(np.rint(severity * (classes // 2)), severity > 0)
    return np.asarray(np.where(rank[items.y] < pairs, other[items.y], items.y))


def _label_noise(items: Items, severity: Floats, seed: int) -> Labels:
    """A share of the labels becomes another class, any of them."""
    classes = len(items.of.classes)
    step = 1 + (uniform(seed, "which label", items.place) * (classes - 1)).astype(np.int64)
    other = (items.y + step) % classes
    return np.asarray(np.where(uniform(seed, "label", items.place) < severity, other, items.y))


def _within(x: NDArray[Any]) -> Features:
    return np.asarray(np.clip(x, 0, 1), np.float32)


ALL: tuple[Nature, ...] = ("image", "text", "table")
KINDS: Mapping[str, Kind] = {
    "noise": Kind("covariate", ("image", "table"), "normal noise, sd 0.5 (images) or 1 (tables)", _noise),
    "blur": Kind("covariate", ("image",), "all Gaussian blur, sd 1.5 eighths of the side", _blur),
    "rotation": Kind("covariate", ("image",), "rotation by 45 degrees", _rotation),
    "contrast": Kind("covariate", ("image",), "contrast down to a fifth", _contrast),
    "brightness": Kind("covariate", ("image",), "every pixel 0.5 brighter", _brightness),
    "scale": Kind("covariate", ("table",), "features twice as large", _scale),
    "shift": Kind("covariate", ("table",), "two standard deviations along one direction", _shift),
    "vocabulary": Kind("covariate", ("text",), "all words replaced by others", _vocabulary),
    "class_share": Kind(
        "prior", ALL, "half of the classes e^3 times as frequent as the others", _class_share
    ),
    "label_swap": Kind(
        "concept", ALL, "all classes exchange their names in pairs, one pair at least", _label_swap
    ),
    "label_noise": Kind("concept", ALL, "every label is another class", _label_noise),
}
