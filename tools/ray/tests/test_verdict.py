"""What follows from exit codes."""

from __future__ import annotations

import pytest

from kiln_ray.project import cuts_of
from kiln_ray.verdict import MOST_CUTS, MOST_TRIES, Cause, Ended, Next, judge


def ended(code: int, iteration: int | None = None, node: str = "n0") -> Ended:
    return Ended(Cause.EXIT, code, iteration, node, "error: what it said")


@pytest.mark.parametrize(
    ("code", "then"),
    [(0, Next.DONE), (7, Next.ELSEWHERE)]
    + [(code, Next.AGAIN) for code in (130, 143, 71, 70, -9, -11, -15)]
    + [(code, Next.STOP) for code in (1, 2, 3, 4, 5, 6, 8, 9, 10, 127)],
)
def test_every_exit_code_has_a_consequence(code: int, then: Next) -> None:
    verdict = judge([ended(code)])
    assert verdict.next is then
    if then is Next.STOP:
        assert "error: what it said" in verdict.reason


@pytest.mark.parametrize("cause", [Cause.LOST, Cause.STORAGE, Cause.LEASE])
def test_what_the_cluster_does_to_a_task_is_no_fault_of_its_block(cause: Cause) -> None:
    assert judge([Ended(cause, iteration=20)] * 5).next is Next.AGAIN


def test_a_block_is_started_again_twenty_times() -> None:
    ends = [ended(143, iteration) for iteration in range(MOST_TRIES + 1)]
    assert judge(ends[:-1]).next is Next.AGAIN
    assert judge(ends).next is Next.STOP
    # Waiting for another driver's task is no attempt.
    assert judge([Ended(Cause.LEASE)] * 100).next is Next.AGAIN


def test_two_crashes_at_one_iteration_are_no_accident() -> None:
    assert judge([ended(70, 100), ended(-9, 200)]).next is Next.AGAIN
    verdict = judge([ended(70, 100), ended(143, 150), ended(-9, 100)])
    assert verdict.next is Next.STOP
    assert "twice at iteration 100" in verdict.reason and "SIGKILL" in verdict.reason
    assert judge([ended(-9), ended(-9, 20)]).next is Next.AGAIN
    assert "twice before its first step" in judge([ended(-9), ended(-9, 20), ended(-9)]).reason
    # Somebody asked for it, or the node was taken away.
    assert judge([ended(143, 100), ended(143, 100)]).next is Next.AGAIN
    assert judge([ended(70, 100), Ended(Cause.LOST, iteration=100)]).next is Next.AGAIN


def test_a_block_that_does_not_fit_is_cut_twice() -> None:
    assert judge([ended(143), ended(6)], cuts=0).next is Next.CUT
    # One that trained already is tried once more before what it trained is given up.
    assert judge([ended(143, 900), ended(6)], cuts=0).next is Next.AGAIN
    assert judge([ended(143, 900), ended(6), ended(6)], cuts=0).next is Next.CUT
    assert judge([ended(6)], cuts=MOST_CUTS - 1).next is Next.CUT
    verdict = judge([ended(6)], cuts=MOST_CUTS)
    assert verdict.next is Next.STOP and "2 times already" in verdict.reason
    assert judge([ended(4)], cuts=0).next is Next.STOP
    assert [cuts_of(name) for name in ("b0007", "b0007a", "b0007ba", "b12345bb", "merge")] == [0, 1, 2, 2, 0]


def test_a_full_disk_is_left_twice() -> None:
    full = [ended(7, node=f"n{at}") for at in range(3)]
    assert judge(full[:2]).next is Next.ELSEWHERE
    assert judge(full).next is Next.STOP
