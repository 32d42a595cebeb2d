"""One message for whatever a damaged file makes its reader raise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dmafl.base.errors import ShownAsIs, bad_input

MAX_REASON_CHARS = 200


@contextmanager
def refusing(errors: tuple[type[Exception], ...], name: str, rule: str, remedy: str) -> Iterator[None]:
    """Turn these errors into a `BadInput` about the file `name`, with the first line of what they say."""
    try:
        yield
    except errors as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:MAX_REASON_CHARS]
        raise bad_input(name, rule, ShownAsIs(reason), remedy) from None
