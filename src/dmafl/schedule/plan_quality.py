"""What a plan was made with: a loss model and a dissimilarity of the devices' data, as one name in files."""

from __future__ import annotations

from dataclasses import dataclass

_SEPARATOR = "+"


@dataclass(frozen=True)
class PlanQuality:
    """A loss model and a dissimilarity; `str` gives the name in files (`calibrated+gram`), `parse` reads it back."""

    loss_model: str = "none"
    dissimilarity: str = ""

    def __str__(self) -> str:
        parts = (self.loss_model, self.dissimilarity) if self.dissimilarity else (self.loss_model,)
        return _SEPARATOR.join(parts)

    @classmethod
    def parse(cls, name: str) -> PlanQuality:
        """From a name in a file; whether there is such a loss model is for `verify` to say."""
        loss_model, _, dissimilarity = name.partition(_SEPARATOR)
        return cls(loss_model, dissimilarity)


NO_QUALITY = PlanQuality()
"""Of a plan that was made without a loss model, e.g. by hand."""
