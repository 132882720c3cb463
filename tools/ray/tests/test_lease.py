"""One writer to a block, in memory and in folders."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.store import MemoryStore

from kiln_ray.lease import Held, Lease, Lost
from kiln_ray.storage import Storage

PERIOD_S = 0.1


@pytest.fixture(params=["memory", "folder"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return Storage(MemoryStore()) if request.param == "memory" else Storage.at(f"file://{tmp_path}/bucket")


def lease(storage: Storage, owner: str) -> Lease:
    return Lease(storage, "blocks/b0000/lease.json", owner, PERIOD_S)


def owner(storage: Storage) -> str | None:
    text = storage.read("blocks/b0000/lease.json")
    assert text is not None
    return json.loads(text)["task"]


def test_a_renewed_lease_is_not_given_away(storage: Storage) -> None:
    first = lease(storage, "first")
    first.take()
    first.keep(lambda: pytest.fail("it was lost"))
    with pytest.raises(Held, match="first"):
        lease(storage, "second").take()
    first.release()
    assert owner(storage) is None
    second = lease(storage, "second")
    second.take()
    assert owner(storage) == "second"


def test_a_lease_that_nobody_renews_is_taken_over_and_its_owner_finds_out(storage: Storage) -> None:
    first, second = lease(storage, "first"), lease(storage, "second")
    first.take()
    began = time.monotonic()
    second.take()
    assert time.monotonic() - began >= 3 * PERIOD_S
    told = threading.Event()
    first.keep(told.set)
    assert told.wait(5.0) and first.lost.is_set()
    with pytest.raises(Lost):
        first.renew()
    first.release()
    assert owner(storage) == "second"
    second.renew()


def test_of_many_one_gets_it(storage: Storage) -> None:
    winners: list[str] = []

    def take(name: str) -> None:
        mine = lease(storage, name)
        try:
            mine.take()
        except Held:
            return
        mine.keep(lambda: winners.remove(name))
        winners.append(name)

    threads = [threading.Thread(target=take, args=[f"t{at}"]) for at in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(winners) == 1 and owner(storage) == winners[0]


def test_a_replacement_names_what_it_replaces(storage: Storage) -> None:
    first = storage.create("a", b"1")
    assert first is not None and storage.create("a", b"2") is None
    second = storage.replace("a", b"3", first)
    assert second is not None and storage.replace("a", b"4", first) is None
    assert storage.read("a") == b"3" and storage.read("b") is None
    storage.delete("a")
    storage.delete("a")
    assert storage.replace("a", b"5", second) is None


def test_an_answer_that_comes_twice_loses_no_lease(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Storage wrote, its answer was lost, and the second try found what the first one had left."""
    put = obstore.put

    def twice(store: object, key: str, text: bytes, **options: Any) -> Any:
        put(store, key, text, **options)
        return put(store, key, text, **options)

    if isinstance(storage.store, MemoryStore):
        monkeypatch.setattr(obstore, "put", twice)
    mine = lease(storage, "mine")
    mine.take()
    mine.renew()
    mine.renew()
    assert owner(storage) == "mine"
    # What another one wrote is still not mine.
    other = lease(storage, "other")
    with pytest.raises(Held):
        mine.keep(lambda: None)
        other.take()
    mine.release()


def test_an_answer_that_comes_late_is_one_of_a_lost_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """A renewal that storage takes when another task has the block long since changes nothing, and says so."""
    storage = Storage(MemoryStore())
    first, second = lease(storage, "first"), lease(storage, "second")
    first.take()
    put = obstore.put

    def late(store: object, key: str, text: bytes, **options: Any) -> Any:
        if b'"first"' in text:
            time.sleep(6 * PERIOD_S)
        return put(store, key, text, **options)

    monkeypatch.setattr(obstore, "put", late)
    told = threading.Event()
    first.keep(told.set)
    second.take()
    second.keep(lambda: pytest.fail("it was lost"))
    assert told.wait(10.0) and first.lost.is_set()
    with pytest.raises(Lost):
        first.renew()
    first.release()
    assert owner(storage) == "second"
    second.release()


@pytest.mark.parametrize("text", [b"", b"[" * 100_000, b"7", b'{"task": ["x"]}'])
def test_a_lease_of_another_shape_is_taken_over_in_time(storage: Storage, text: bytes) -> None:
    storage.write("blocks/b0000/lease.json", text)
    mine = lease(storage, "mine")
    mine.take()
    assert owner(storage) == "mine"
