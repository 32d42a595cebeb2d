"""The app of a device for Flower: one action a task, each answered by `dmafl.deployment.device`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmafl.deployment.device import Device
from dmafl.deployment.wire import ABOUT, action_of


def client_app(tasks: Sequence[str], settings: Mapping[str, Any] | None = None) -> Any:
    """A ClientApp for these tasks, by their names in the order of the scenario.

    `settings` are those of all devices of a simulation; each then has the number that a message calls it by.
    """
    from flwr.app import ConfigRecord, Context, Message, RecordDict
    from flwr.clientapp import ClientApp

    def answer(message: Message, context: Context) -> Message:
        """Hand a message over, and its reply back; a reply is void when the message is."""
        record = message.content.get(RECORD)
        content = dict(record) if isinstance(record, ConfigRecord) else {}
        about = message.metadata
        config = dict(context.node_config)
        if settings is not None:
            config |= {**settings, "device": content.get("device", config.get("partition-id"))}
        reply = Device(config).answer(about.message_type, content, about.created_at, about.ttl)
        return Message(RecordDict({RECORD: ConfigRecord(dict(reply))}), reply_to=message)

    app = ClientApp()
    for place, task in enumerate(tasks):
        app.train(action_of(task, place).partition(".")[2])(answer)
    app.query(ABOUT.partition(".")[2])(answer)
    return app


RECORD = "dmafl"
"""The one record of a message."""
