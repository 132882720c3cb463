"""The Ray cluster: connecting, handing out tasks, what became of them."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError, TaskCancelledError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from kiln_ray import task
from kiln_ray.progress import Board
from kiln_ray.verdict import Cause, Ended

LOCAL = "local"
#: Exit code of a defect.
INTERNAL = 1
CANCELLED = 143
#: The version of Ray that has token authentication on by default.
TOKENS_SINCE = (2, 60)


@dataclass(frozen=True)
class Needs:
    """What a task asks of a node."""

    gpus: float
    cpus: float

    def fit(self, node: dict[str, Any]) -> bool:
        """True when a node could give it, were it free."""
        has = node.get("Resources", {})
        return bool(node.get("Alive")) and has.get("GPU", 0) >= self.gpus and has.get("CPU", 0) >= self.cpus


def connect(address: str) -> None:
    """Joins the cluster at an address; `local` starts one on this machine, for the time of the command.

    Raises:
        ConnectionError: when there is none.
    """
    if address == LOCAL:
        # For this command alone: nothing listens beyond the machine, and nothing is sent anywhere.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        local: dict[str, Any] = {"_node_ip_address": "127.0.0.1", "include_dashboard": False}
    else:
        local = {}
    ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING, **local)


def is_open(version: str, mode: str | None) -> bool:
    """True when a Ray of that version, with that `RAY_AUTH_MODE`, lets everybody run what they like."""
    if mode is not None:
        return mode != "token"
    major, minor = (int(part) for part in version.split(".")[:2])
    return (major, minor) < TOKENS_SINCE


class Cluster:
    """A connected cluster with the actor that tasks report to."""

    def __init__(self, job: task.Job, needs: Needs) -> None:
        self._job = job
        self.needs = needs
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        actor = ray.remote(num_cpus=0, max_restarts=0)(Board)
        self._board: Any = actor.options(scheduling_strategy=here).remote()
        # Attempts are counted by cause, which Ray does not know.
        self._train: Any = ray.remote(num_gpus=needs.gpus, num_cpus=needs.cpus, max_retries=0)(task.train)
        self._evaluate: Any = ray.remote(num_gpus=needs.gpus, num_cpus=needs.cpus, max_retries=0)(task.evaluate)
        self._merge: Any = ray.remote(num_gpus=0, num_cpus=min(1.0, needs.cpus), max_retries=0)(task.merge)
        self._cut: Any = ray.remote(num_gpus=0, num_cpus=min(1.0, needs.cpus), max_retries=0)(task.cut)

    def can_start(self) -> bool:
        """True when some node could run a task, were it free."""
        return any(self.needs.fit(node) for node in ray.nodes())

    def another_node(self, failed: Collection[str | None]) -> str | None:
        """A node that could run a task and is none of `failed`."""
        nodes = sorted(node["NodeID"] for node in ray.nodes() if self.needs.fit(node))
        return next((node for node in nodes if node not in failed), None)

    def train(self, name: str, attempt: int, node: str | None = None) -> Any:
        """Queues a block, on a node of its own if one is named; a handle of the task."""
        return self._on(self._train, node).remote(self._job, name, attempt, self._board)

    def merge(self, attempt: int, node: str | None = None) -> Any:
        """Queues the merge."""
        return self._on(self._merge, node).remote(self._job, attempt, self._board)

    def cut(self, name: str, attempt: int, node: str | None = None) -> Any:
        """Queues the cut of a block in two."""
        return self._on(self._cut, node).remote(self._job, name, attempt, self._board)

    def evaluate(self, attempt: int, node: str | None = None) -> Any:
        """Queues the evaluation of the merged model."""
        return self._on(self._evaluate, node).remote(self._job, attempt, self._board)

    @staticmethod
    def _on(function: Any, node: str | None) -> Any:
        if node is None:
            return function
        return function.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False))

    def rows(self) -> dict[str, dict[str, Any]]:
        """The reports of running tasks."""
        return ray.get(self._board.rows.remote())

    def stop(self) -> None:
        """Has running tasks save and end."""
        ray.get(self._board.stop.remote())

    @staticmethod
    def take_back(handle: Any) -> None:
        """Takes a queued task back."""
        ray.cancel(handle)

    @staticmethod
    def wait(handles: Collection[Any], seconds: float) -> list[Any]:
        """Tasks that have ended, after at most so many seconds."""
        if not handles:
            return []
        ready, _ = ray.wait(list(handles), num_returns=1, timeout=seconds)
        return ready

    @staticmethod
    def result(handle: Any, row: dict[str, Any] | None) -> Ended:
        """How a task ended; `row` is its last report, for tasks whose worker is gone."""
        row = row or {}
        iteration, node = row.get("iteration"), row.get("node")
        try:
            return ray.get(handle)
        except TaskCancelledError:
            return Ended(Cause.EXIT, CANCELLED, iteration, node, "taken back before it began")
        except RayTaskError as error:
            # A defect of this package, or a package that the node lacks.
            return Ended(Cause.EXIT, INTERNAL, iteration, node, f"error: {error.cause or error}")
        except RayError as error:
            return Ended(Cause.LOST, None, iteration, node, f"the worker was lost: {type(error).__name__}")
