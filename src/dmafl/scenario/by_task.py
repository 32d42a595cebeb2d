"""Values that may differ from task to task: a number for all of them, or a table by task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from dmafl.scenario.draws import is_number


@dataclass(frozen=True)
class ByTask:
    """A number for every task, or for the tasks that are named.

    A comparison with a number holds if it holds for all values, so that a field's range applies to each.
    """

    everywhere: float | None = None
    """The number for all tasks; None where they are named."""
    named: tuple[tuple[str, float], ...] = ()

    def of(self, task: str) -> float | None:
        """The number for a task, if there is one."""
        return self.everywhere if self.everywhere is not None else dict(self.named).get(task)

    def __ge__(self, bound: float) -> bool:
        return all(value >= bound for value in self._values)

    def __le__(self, bound: float) -> bool:
        return all(value <= bound for value in self._values)

    @property
    def _values(self) -> list[float]:
        return [value for _, value in self.named] if self.everywhere is None else [self.everywhere]

    def plain(self) -> float | dict[str, float]:
        """As written in TOML: a number, or `{ mnist = 0.85 }`."""
        return dict(self.named) if self.everywhere is None else self.everywhere

    @classmethod
    def parse(cls, given: Any) -> ByTask:
        """What a TOML or JSON value describes; pydantic reports errors in it."""
        if isinstance(given, ByTask):
            return given
        if is_number(given):
            return cls(float(given))
        if not isinstance(given, dict) or not given:
            raise PydanticCustomError(
                "by_task", "must be a number, or a table by task, e.g. { mnist = 0.85 }"
            )
        if not all(isinstance(task, str) and is_number(value) for task, value in given.items()):
            raise PydanticCustomError("by_task_values", "must hold a number for every task that it names")
        return cls(None, tuple((task, float(value)) for task, value in given.items()))

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.plain_serializer_function_ser_schema(ByTask.plain)
        )
