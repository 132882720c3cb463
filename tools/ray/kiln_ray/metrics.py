"""Figures for Prometheus, through `ray.util.metrics`: Ray exports them from each node, with its own.

Ray puts `ray_` before the names, and `_total` behind those of counters. Every figure has the project as a tag.
"""

from __future__ import annotations

from collections.abc import Iterable

from ray.util.metrics import Counter, Gauge

from kiln_ray.progress import STATES, Row

PROJECT, STATE, BLOCK = "project", "state", "block"


class Meter:
    """The figures of one project."""

    def __init__(self, project: str) -> None:
        self._blocks = Gauge("kiln_blocks", "Blocks of a project in a state", (PROJECT, STATE))
        of_block = {
            "iteration": Gauge("kiln_block_iteration", "Iterations of a block that are done", (PROJECT, BLOCK)),
            "its": Gauge("kiln_block_iterations_per_second", "Iterations a second of a block", (PROJECT, BLOCK)),
            "gaussians": Gauge("kiln_block_gaussians", "Gaussians of a block's model", (PROJECT, BLOCK)),
        }
        self._of_block = of_block
        self._retries = Counter("kiln_retries", "Attempts after one that failed or was interrupted", (PROJECT,))
        self._cuts = Counter("kiln_cuts", "Blocks cut in two because they did not fit", (PROJECT,))
        for metric in (self._blocks, *of_block.values(), self._retries, self._cuts):
            metric.set_default_tags({PROJECT: project})
        self._shown: set[str] = set()

    def show(self, rows: Iterable[Row]) -> None:
        """Says how far the blocks are."""
        rows = list(rows)
        for state in STATES:
            self._blocks.set(sum(1 for row in rows if row.state == state), {STATE: state})
        for row in rows:
            rate = row.its if row.state == "running" else 0.0
            for name, value in (("iteration", row.iteration), ("its", rate), ("gaussians", row.gaussians)):
                self._of_block[name].set(value or 0, {BLOCK: row.name})
        names = {row.name for row in rows}
        for gone in self._shown - names:
            # Cut in two. Ray forgets no figure, and sums must not count it.
            for gauge in self._of_block.values():
                gauge.set(0, {BLOCK: gone})
        self._shown = names

    def retry(self) -> None:
        """Counts an attempt that follows one that failed or was interrupted."""
        self._retries.inc()

    def cut(self) -> None:
        """Counts a block that was cut in two."""
        self._cuts.inc()
