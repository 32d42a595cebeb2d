"""The app of the server for Flower: a run on real devices, as the app's settings say."""

from __future__ import annotations

import logging
from typing import Any


def server_app() -> Any:
    """A ServerApp that carries out one run."""
    from flwr.app import Context
    from flwr.serverapp import Grid, ServerApp

    app = ServerApp()

    def main(grid: Grid, context: Context) -> None:
        """Run until all aggregations are there; a folder that is there is gone on with where `resume` says so."""
        from dmafl.deployment.grid_link import GridLink
        from dmafl.deployment.real_run import real_run_of, run_on_devices

        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
        run_on_devices(real_run_of(context.run_config), GridLink(grid))

    app.main()(main)
    return app
