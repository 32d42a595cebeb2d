"""Other libraries, each in a virtual environment of its own that is made once and kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from measures.tables import Row

INSTALL_LIMIT_S = 3600
RUN_LIMIT_S = 900
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}


@dataclass(frozen=True)
class Peer:
    """What to install, and whether our own version of torch must be there first.

    An open range of torch would pull several GB of CUDA packages.
    """

    package: str
    needs_torch: bool


PEERS = {
    "pfl": Peer("pfl>=0.6,<0.7", True),
    "flower": Peer("flwr[simulation]>=1.41,<1.42", True),
    "fedjax": Peer("fedjax>=0.0.17,<0.1", False),
}


def prepare(folder: Path | None) -> dict[str, Path]:
    """The Python of every peer that could be installed below `folder`; the others are printed with the reason."""
    if folder is None:
        print(f"peers skipped ({', '.join(PEERS)}): no --peers DIR was given")
        return {}
    environments = {}
    for name, peer in PEERS.items():
        try:
            environments[name] = _environment(folder.expanduser().resolve() / name, peer)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"peer {name} skipped: it could not be installed ({_reason(error)})")
    return environments


def run(name: str, python: Path, data: Path, warm: int, rounds: int) -> Row | None:
    """What the peer's script reports, or None, with the reason printed."""
    command = [str(python), "-m", f"peers.run_{name}", "--data", str(data)]
    command += ["--warm", str(warm), "--rounds", str(rounds)]
    home = Path(__file__).resolve().parent.parent
    try:
        done = _call(command, RUN_LIMIT_S, home)
        row: Row = json.loads(done.strip().splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        print(f"peer {name} skipped: it did not run ({_reason(error)})")
        return None
    return row


def _environment(home: Path, peer: Peer) -> Path:
    python = home / "bin" / "python"
    torch = f"torch=={version('torch').partition('+')[0]}"
    wanted = [*([torch] if peer.needs_torch else []), peer.package]
    ready = home / "installed.txt"
    if ready.is_file() and ready.read_text() == "\n".join(wanted):
        return python
    print(f"installing {' and '.join(wanted)}", flush=True)
    _call([sys.executable, "-m", "venv", str(home)], INSTALL_LIMIT_S)
    for package in wanted:
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", package]
        _call(pip, INSTALL_LIMIT_S)
    ready.write_text("\n".join(wanted))
    return python


def _call(command: list[str], limit_s: float, folder: Path | None = None) -> str:
    environment = os.environ | ONE_THREAD
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        command, cwd=folder, env=environment, timeout=limit_s, capture_output=True, text=True, check=True
    )
    return done.stdout


def _reason(error: Exception) -> str:
    """The last line that a failed command wrote, or what else went wrong."""
    written = (getattr(error, "stderr", None) or "").strip().splitlines()
    return written[-1] if written else str(error)
