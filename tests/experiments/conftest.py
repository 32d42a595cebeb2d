"""What the tests of experiments share: runs are written to memory."""

from support.in_memory import tmp_path  # noqa: F401
