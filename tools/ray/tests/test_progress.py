"""What is shown and written of how far the blocks are."""

from __future__ import annotations

import io

from kiln_ray.progress import Board, Row, Screen, record


def test_a_row_hears_the_events_of_a_run() -> None:
    row = Row("b0000", "running", attempts=2)
    for event in (
        {"type": "start", "from": 20, "iterations": 140},
        {"type": "progress", "stage": "load", "done": 1, "total": 35},
        {"type": "train", "it": 80, "its": 0.5, "gaussians": 7},
    ):
        row.hear(event)
    assert (row.iteration, row.iterations, row.gaussians, row.eta_s) == (80, 140, 7, 120.0)
    assert row.text() == "b0000  running  80 of 140, 0.5 it/s, 2 min left, attempt 2"
    row.hear({"type": "end", "iterations": 140})
    row.state = "done"
    assert row.iteration == 140 and row.eta_s is None


def test_a_record_counts_states() -> None:
    rows = [Row("b0000", "done"), Row("b0001", "running", its=2.0, iteration=0, iterations=10), Row("b0002")]
    found = record(rows, None)
    assert [found[state] for state in ("waiting", "running", "done", "failed")] == [1, 1, 1, 0]
    assert [block["eta_s"] for block in found["blocks"]] == [None, 5.0, None]


def test_a_log_has_a_line_when_something_changes() -> None:
    out = io.StringIO()
    screen = Screen(out)
    rows = [Row("b0000"), Row("b0001")]
    screen.show(rows)
    rows[0].state = "running"
    screen.show(rows)
    rows[0].iteration = 10
    screen.show(rows)
    rows[0].state, rows[0].message = "waiting", "exit code 143"
    screen.show(rows)
    assert out.getvalue() == "b0000  running\nb0000  waiting  exit code 143\n"


def test_the_board_tells_tasks_to_end() -> None:
    board = Board()
    assert board.tell("b0000", {"attempts": 1}) is False
    board.stop()
    assert board.tell("b0000", {"attempts": 2}) is True
    assert board.rows() == {"b0000": {"attempts": 2}}
