"""Jobs that devices have, by their numbers and by their messages; and those that nobody waits for any more."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass

from dmafl.deployment.replies import Span
from dmafl.server.messages import Failed, Job, Joined, Left, Period, Plain

GRACE_S = 30.0
"""A reply is given up only this long after its deadline, for the network itself reports what is too late."""
Told = Left | Joined | Failed


@dataclass(frozen=True)
class Sent:
    """A job that its device has, or that is on its way there."""

    job: Job
    span: Span
    message: str
    node: int
    until_s: float
    """When the job is void."""


class UnderWay:
    """Jobs under way."""

    def __init__(self) -> None:
        self._jobs: dict[int, Sent] = {}
        self._late: dict[str, Sent] = {}
        """Given up, by message: what comes of them all the same is counted."""

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[Sent]:
        return iter(list(self._jobs.values()))

    def add(self, sent: Sent) -> None:
        """A device has it."""
        self._jobs[sent.job.id] = sent

    def messages(self) -> list[str]:
        """Whose replies are looked for."""
        return [*(sent.message for sent in self._jobs.values()), *self._late]

    def answered(self, message: str) -> tuple[Sent | None, bool]:
        """The job of a message, and whether it is waited for; a late one is forgotten with this."""
        sent = next((sent for sent in self._jobs.values() if sent.message == message), None)
        return (sent, True) if sent is not None else (self._late.pop(message, None), False)

    def close(self, sent: Sent) -> None:
        """It has ended."""
        self._jobs.pop(sent.job.id, None)

    def give_up(self, sent: Sent) -> None:
        """Nobody waits for it any more."""
        self.close(sent)
        if sent.message:
            self._late[sent.message] = sent

    def expired(self, now: float, answered: Collection[str]) -> list[Sent]:
        """Those whose reply cannot come any more; late ones are forgotten."""
        self._late = {
            message: sent
            for message, sent in self._late.items()
            if now <= sent.until_s or message in answered
        }
        return [sent for sent in self if now > sent.until_s + GRACE_S and sent.message not in answered]

    def state(self) -> list[Plain]:
        """As plain values, for a checkpoint."""
        return [
            {"job": asdict(sent.job), "start_s": sent.span.start_s, "idle_s": sent.span.idle_s}
            for sent in self
        ]

    @staticmethod
    def saved(state: list[Plain]) -> list[tuple[Job, Span]]:
        """The jobs of `state`, which are to be sent again."""
        return [(Job.from_plain(entry["job"]), Span(entry["start_s"], entry["idle_s"])) for entry in state]


def told_plain(told: Told) -> Plain:
    """What the server is to be told, for a checkpoint."""
    kind = type(told).__name__
    if isinstance(told, Failed):
        return {
            "kind": kind,
            "job": asdict(told.job),
            "reason": told.reason,
            "device_lost": told.device_lost,
            "period": list(told.period),
        }
    return {"kind": kind, "device": told.device}


def told_again(given: Plain) -> Told:
    """From `told_plain`."""
    if given["kind"] == Failed.__name__:
        job, period = Job.from_plain(given["job"]), Period(*given["period"])
        return Failed(job, given["reason"], given["device_lost"], period)
    return (Left if given["kind"] == Left.__name__ else Joined)(given["device"])
