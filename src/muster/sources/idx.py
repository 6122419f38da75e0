"""Images in IDX files, as MNIST and its kin come: from a folder, packed with gzip or not."""

from __future__ import annotations

import gzip
import os
import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadData
from muster.records import Samples

Bytes = NDArray[np.uint8]
NAME = re.compile(r"(.*?)(train|t10k|test)-(images[-.]idx3|labels[-.]idx1)-ubyte(\.gz)?")
PARTS = ("train", "t10k")
FASHION = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
    "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
KNOWN = ("/usr/share/datasets/fashion-mnist", "~/.cache/muster/fashion-mnist")
MAGIC = {3: 0x00000803, 1: 0x00000801}


def fashion() -> Samples:
    """The 70,000 images of Fashion-MNIST, those to train on first.

    They are looked for in the folder that the environment variable MUSTER_DATA names (or in
    ``fashion-mnist`` below it), where Debian has them, and in ``~/.cache/muster``.
    """
    given = os.environ.get("MUSTER_DATA")
    places = [Path(given, "fashion-mnist"), Path(given)] if given else []
    places += [Path(place).expanduser() for place in KNOWN]
    wanted = {f"{part}-{kind}-ubyte" for part in PARTS for kind in ("images-idx3", "labels-idx1")}
    for place in places:
        if wanted <= {file.name.removesuffix(".gz") for file in _listed(place)}:
            found = folder(place, name="fashion-mnist")
            if found.shape == (28, 28) and found.classes == tuple(map(str, range(10))):
                return replace(found, classes=FASHION)
            raise BadData(f"{place}: Fashion-MNIST is 10 classes of 28 x 28 pixels, which this is not")
    raise BadData(
        f"fashion-mnist: no folder has the four files {', '.join(sorted(wanted))} (each may end in .gz); "
        f"looked in {', '.join(map(str, places))}. Debian has them: apt-get install dataset-fashion-mnist; "
        "or name a folder in the environment variable MUSTER_DATA"
    )


def is_idx(file: Path) -> bool:
    """Is it named like a file of images or labels?

    >>> is_idx(Path("train-images-idx3-ubyte.gz")), is_idx(Path("train.csv"))
    (True, False)
    """
    return NAME.fullmatch(file.name) is not None


def folder(place: Path, *, name: str | None = None) -> Samples:
    """All images of a folder: those to train on, then those to test on. Pixels are between 0 and 1.

    Where a file is there both packed and plain, the plain one is read.
    """
    pairs = _pairs(place)
    images = [read_idx(one, 3) for one, _ in pairs]
    labels = [read_idx(one, 1) for _, one in pairs]
    for (one, other), pixels, truth in zip(pairs, images, labels, strict=True):
        if len(pixels) != len(truth):
            raise BadData(
                f"{place}: {len(pixels):,} images in {one.name}, {len(truth):,} labels in {other.name}"
            )
        if pixels.shape[1:] != images[0].shape[1:]:
            raise BadData(
                f"{place}: images of {_sides(images[0])} pixels in {pairs[0][0].name}, "
                f"of {_sides(pixels)} in {one.name}"
            )
    levels, codes = np.unique(np.concatenate(labels), return_inverse=True)
    x = np.concatenate(images).reshape(len(codes), -1).astype(np.float32)
    x /= np.float32(255)
    rows, columns = images[0].shape[1:]
    return Samples(
        name=name or place.resolve().name,
        nature="image",
        x=x,
        y=codes.astype(np.int64),
        classes=tuple(map(str, levels.tolist())),
        shape=(rows, columns),
    )


def read_idx(file: Path, axes: int) -> Bytes:
    """The bytes of one file: images have three axes, labels one."""
    opened = gzip.open if file.suffix == ".gz" else Path.open
    try:
        with opened(file, "rb") as data:
            raw = data.read()
    except (OSError, EOFError, zlib.error) as error:
        raise BadData(f"{file}: cannot be read: {error}") from error
    head = 4 + 4 * axes
    if len(raw) < head:
        raise BadData(f"{file}: truncated: {len(raw)} bytes, and its head alone has {head}")
    magic, *shape = struct.unpack_from(f">{1 + axes}I", raw)
    if magic != MAGIC[axes]:
        kind = "images" if axes == 3 else "labels"
        raise BadData(f"{file}: no IDX file of {kind}: it begins with {magic:#010x}, not {MAGIC[axes]:#010x}")
    expected = int(np.prod(shape, dtype=object))
    if not expected:
        raise BadData(f"{file}: it is empty: its head says {' x '.join(map(str, shape))}")
    if len(raw) - head != expected:
        fault = "truncated" if len(raw) - head < expected else "too long"
        said = " x ".join(f"{side:,}" for side in shape)
        raise BadData(
            f"{file}: {fault}: its head says {said} = {expected:,} bytes, there are {len(raw) - head:,}"
        )
    return np.frombuffer(raw, np.uint8, offset=head).reshape(shape)


def _listed(place: Path) -> list[Path]:
    return sorted(file for file in place.iterdir() if is_idx(file)) if place.is_dir() else []


def _pairs(place: Path) -> list[tuple[Path, Path]]:
    """Images with their labels, those to train on first."""
    found: dict[tuple[str, str], Path] = {}
    prefixes = set()
    for file in _listed(place):
        prefix, part, kind, _ = _split(file)
        prefixes.add(prefix)
        found.setdefault((part, kind), file)
    if len(prefixes) > 1:
        raise BadData(
            f"{place}: files of more than one set: {', '.join(f'{name}...' for name in sorted(prefixes))}"
        )
    parts = sorted({part for part, _ in found}, key=("train", "t10k", "test").index)
    for part in parts:
        for kind, other in (("images", "labels"), ("labels", "images")):
            if (part, kind) not in found:
                raise BadData(f"{place}: {found[part, other].name} is there without its {kind}")
    if not parts:
        raise BadData(f"{place}: no IDX files (train-images-idx3-ubyte, ...) in this folder")
    return [(found[part, "images"], found[part, "labels"]) for part in parts]


def _split(file: Path) -> Sequence[str]:
    """Set, part, images or labels, packed or not."""
    named = NAME.fullmatch(file.name)
    groups = named.groups("") if named else ("",) * 4
    return [groups[0], groups[1], groups[2][:6], groups[3]]


def _sides(images: Bytes) -> str:
    return " x ".join(map(str, images.shape[1:]))
