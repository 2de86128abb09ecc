"""What was written under `match`, `exclude`, `container` and `kubernetes`, as the model has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exporter.config.nodes import At
from exporter.config.section import Read
from exporter.config.words import Placed
from exporter.model.target import ContainerWords, Pattern, PodWords, Words

#: What is compared with patterns, of `Words`.
PATTERN_FIELDS = ("exe", "comm", "cmdline")


@dataclass(frozen=True, slots=True)
class WordSet:
    """The words of one `match` or of one entry of `exclude`, and where their patterns stand.

    `key` is which of the two; `patterns` are by field.
    """

    key: str
    at: At
    words: Words
    patterns: Mapping[str, tuple[Placed, ...]]


def word_set(key: str, read: Read) -> WordSet:
    """The words of a mapping that could be read."""
    patterns = {name: _placed(read, name) for name in PATTERN_FIELDS}
    words = Words(
        **{name: _patterns(placed) for name, placed in patterns.items()},
        user=read.values["user"] or (),
    )
    return WordSet(key, read.at, words, patterns)


def container_words(read: Read) -> ContainerWords:
    """The same for `container`."""
    name, image = (_patterns(_placed(read, name)) for name in ("name", "image"))
    return ContainerWords(name, image)


def pod_words(read: Read) -> PodWords:
    """The same for the `kubernetes` of a target."""
    namespace, pod, container = (
        _patterns(_placed(read, name)) for name in ("namespace", "pod", "container")
    )
    labels = tuple((key, _patterns(globs)) for key, globs in read.values["labels"] or ())
    return PodWords(namespace, pod, container, labels)


def _placed(read: Read, name: str) -> tuple[Placed, ...]:
    """The globs of a key, or the regular expressions of its other form."""
    return (read.values[name] or ()) + (read.values[f"{name}_re"] or ())


def _patterns(placed: tuple[Placed, ...]) -> tuple[Pattern, ...]:
    return tuple(pattern for pattern, _ in placed)
