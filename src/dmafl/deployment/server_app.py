"""The app of the server for Flower: a run on real devices, as the app's settings say."""

from __future__ import annotations

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
        from dmafl.deployment.run_log import log_of, write_log

        asked = real_run_of(context.run_config)
        write_log(log_of(asked.output))
        run_on_devices(asked, GridLink(grid))

    app.main()(main)
    return app
