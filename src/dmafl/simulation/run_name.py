"""The name of the run of one scheme with one seed, as folders, files and tables have it: `fedasync-s7`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_SEPARATOR = "-s"


@dataclass(frozen=True, order=True)
class RunName:
    """A scheme and a seed; `str` gives the name, `parse` reads it back."""

    scheme: str
    seed: int

    def __str__(self) -> str:
        return f"{self.scheme}{_SEPARATOR}{self.seed}"

    @classmethod
    def parse(cls, name: str) -> RunName:
        """From a name; the seed stands after the last `-s`, since the name of a scheme may have one too."""
        scheme, separator, seed = name.rpartition(_SEPARATOR)
        if not separator or not scheme or not (seed.isascii() and seed.isdigit()):
            raise ValueError(f"no name of a scheme's run with a seed: {name!r}")
        return cls(scheme, int(seed))

    @classmethod
    def of_all(cls, schemes: Iterable[str], seeds: Iterable[int]) -> list[RunName]:
        """All runs of these schemes with these seeds, in the order of the files: scheme by scheme."""
        every_seed = list(seeds)
        return [cls(scheme, seed) for scheme in schemes for seed in every_seed]

    def model_file(self, task: str) -> str:
        """Where the last model of a task lies in the folder of a run."""
        return f"models/{self}-{task}.safetensors"
