"""Text to features: words, hashed; and texts made up, always the same, to try things on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from muster.kernels.types import Floats
from muster.records import Features, Samples

BUCKETS = 512
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
BLOCK = 4096
SEED = 62
TOPICS, TEXTS, VOCABULARY = 20, 6000, 3000
OWN, CLEAR, SPREAD = 100, 0.45, 0.6
SYLLABLES = tuple(a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "el", "or"))


def tokens(text: str) -> list[str]:
    """The words of a text, in lower case; an apostrophe inside a word belongs to it.

    >>> tokens("Don't PANIC: it's 42.")
    ["don't", 'panic', "it's", '42']
    """
    return WORD.findall(text.lower())


def hashed(texts: Sequence[str]) -> Features:
    """How often words of each of 512 buckets occur, each row of length 1; a text without words is all 0.

    A word's bucket is its CRC-32, which is the same on every machine.

    >>> hashed(["to be or not to be"]).max().round(3)
    np.float32(0.632)
    """
    found = np.zeros((len(texts), BUCKETS), np.float32)
    for start in range(0, len(texts), BLOCK):
        buckets = [[_bucket(word) for word in tokens(text)] for text in texts[start : start + BLOCK]]
        lengths = np.fromiter(map(len, buckets), np.intp, len(buckets))
        flat = np.fromiter(chain.from_iterable(buckets), np.intp, lengths.sum())
        row = np.repeat(np.arange(len(buckets)), lengths)
        counts = np.bincount(row * BUCKETS + flat, minlength=len(buckets) * BUCKETS)
        counts = counts.reshape(-1, BUCKETS)
        norm = np.sqrt((counts**2).sum(axis=1, keepdims=True))
        found[start : start + BLOCK] = counts / np.maximum(norm, 1)
    return found


def made_up() -> Samples:
    """6,000 texts of 20 topics, 20 to 80 words each, in a language that nobody speaks.

    Of the words of a text, 18 to 72 % are of its topic, one in three of these of a neighbouring topic;
    the others are of any. Some words are frequent and most are rare, as Zipf found. A linear model
    is right on nine of ten texts that it has not seen.
    """
    texts, topic = corpus()
    classes = tuple(f"topic-{i:02d}" for i in range(TOPICS))
    return Samples(name="text", nature="text", x=hashed(texts), y=topic, classes=classes)


def corpus() -> tuple[list[str], NDArray[np.int64]]:
    """The texts made up, and the topic of each; of random bits and whole steps, the same on every machine.

    >>> corpus()[0][0][:20]
    'ramo dazi bino vifel'
    """
    bits = np.random.PCG64(SEED)
    topic = np.arange(TEXTS) % TOPICS
    lengths = 20 + (_uniform(bits, TEXTS) * 61).astype(np.int64)
    clear = CLEAR * (1 - SPREAD + 2 * SPREAD * _uniform(bits, TEXTS))
    text = np.repeat(np.arange(TEXTS), lengths)
    words = len(text)
    shared = np.searchsorted(_zipf(VOCABULARY), _uniform(bits, words))
    own = np.searchsorted(_zipf(OWN), _uniform(bits, words))
    is_own = _uniform(bits, words) < clear[text]
    aside = np.array([0, 0, 0, 0, 1, -1])[(_uniform(bits, words) * 6).astype(np.int64)]
    order = np.argsort(_uniform(bits, VOCABULARY), kind="stable")
    start = (topic[text] + aside) % TOPICS * (VOCABULARY // TOPICS)
    number = np.where(is_own, order[(start + own) % VOCABULARY], shared)
    named = [_word(i) for i in range(VOCABULARY)]
    spoken = [named[i] for i in number.tolist()]
    ends = np.cumsum(lengths).tolist()
    texts = [" ".join(spoken[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    return texts, topic.astype(np.int64)


def _uniform(bits: np.random.PCG64, count: int) -> Floats:
    """Numbers from 0 to 1 from the raw bits, which no version of NumPy may change."""
    return np.asarray((bits.random_raw(count) >> np.uint64(11)) * 2.0**-53)


def _zipf(count: int) -> Floats:
    """The cumulated shares of words by rank (Mandelbrot's form of Zipf's law)."""
    shares = np.cumsum(1 / (np.arange(count) + 2.7))
    return np.asarray(shares / shares[-1])


def _word(number: int) -> str:
    """A word of two syllables, another for each number."""
    place = (number * 7919 + 12345) % len(SYLLABLES) ** 2
    return SYLLABLES[place // len(SYLLABLES)] + SYLLABLES[place % len(SYLLABLES)]


@lru_cache(1 << 18)
def _bucket(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass")) % BUCKETS
