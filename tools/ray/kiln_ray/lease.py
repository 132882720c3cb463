"""One writer to a block in storage.

`lease.json` names the task that writes, and when it last said so. It is taken and renewed by conditional puts: of two
that want it one gets it. A lease that nobody renews for three periods may be taken over; whoever comes watches it for
that time by its own clock, so clocks need not agree.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone

from kiln_ray.storage import ERRORS, Storage, Tag

#: Periods without a renewal after which a lease may be taken over.
EXPIRES_AFTER = 3
#: Periods after which it is old by any clock.
OLD_AFTER = 30


class Held(Exception):
    """Another task writes to the block."""


class Lost(Exception):
    """Another task took the lease over."""


class Lease:
    """A lease in `key`, for the task `owner`, renewed every `period_s` seconds while it is kept."""

    def __init__(self, storage: Storage, key: str, owner: str, period_s: float) -> None:
        self._storage = storage
        self._key = key
        self._owner = owner
        self._period_s = period_s
        self._tag: Tag | None = None
        self._guard = threading.Lock()
        self._end = threading.Event()
        self._keeper: threading.Thread | None = None
        #: Set when another task took it over.
        self.lost = threading.Event()

    def _text(self) -> bytes:
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        return json.dumps({"task": self._owner, "renewed": now}).encode()

    def take(self, go_on: Callable[[], bool] = lambda: True) -> None:
        """Takes the lease, after waiting for one that nobody renews; `go_on` ends the wait when it is false.

        Raises:
            Held: when another task renews it.
        """
        tag = self._storage.create(self._key, self._text())
        if tag is None:
            found = self._storage.read_tagged(self._key)
            tag = self._over(found, go_on) if found else self._storage.create(self._key, self._text())
        if tag is None:
            raise Held(f"another task has just taken {self._storage.url}/{self._key}")
        self._tag = tag

    def _over(self, found: Tag, go_on: Callable[[], bool]) -> Tag | None:
        """Takes over what nobody renews."""
        if not self._is_free(found):
            until = time.monotonic() + EXPIRES_AFTER * self._period_s
            while time.monotonic() < until and go_on():
                time.sleep(min(1.0, self._period_s / 2))
                now = self._storage.read_tagged(self._key)
                if now is None:
                    return self._storage.create(self._key, self._text())
                if now.text != found.text:
                    if self._is_free(now):
                        return self._storage.replace(self._key, self._text(), now)
                    raise Held(f"task {_owner(now.text)} writes to the block of {self._storage.url}/{self._key}")
            if not go_on():
                raise Held("the wait for the lease was ended")
        return self._storage.replace(self._key, self._text(), found)

    def _is_free(self, found: Tag) -> bool:
        if _owner(found.text) is None:
            return True
        if found.modified is None:
            return False
        age = datetime.now(timezone.utc) - found.modified
        return age.total_seconds() > OLD_AFTER * self._period_s

    def renew(self) -> None:
        """Says that the task is still there.

        Raises:
            Lost: when another task took it over; and those of the storage.
        """
        with self._guard:
            tag = self._tag and self._storage.replace(self._key, self._text(), self._tag)
            if tag is None:
                self._tag = None
                self.lost.set()
                raise Lost(f"another task took over {self._storage.url}/{self._key}")
            self._tag = tag

    def keep(self, on_lost: Callable[[], None]) -> None:
        """Renews it from a thread of its own until `release`; `on_lost` is called once when it is lost."""

        def work() -> None:
            unheard = time.monotonic()
            while not self._end.wait(self._period_s):
                try:
                    self.renew()
                    unheard = time.monotonic()
                except Lost:
                    on_lost()
                    return
                except ERRORS:
                    # Storage that is away for long: by then another task may take it over.
                    if time.monotonic() - unheard > (EXPIRES_AFTER - 1) * self._period_s:
                        self.lost.set()
                        on_lost()
                        return

        self._keeper = threading.Thread(target=work, daemon=True)
        self._keeper.start()

    def release(self) -> None:
        """Gives it back: the next task need not wait. A lost one is left alone."""
        self._end.set()
        if self._keeper:
            self._keeper.join()
        with self._guard:
            tag, self._tag = self._tag, None
            if tag:
                self._storage.replace(self._key, json.dumps({"task": None}).encode(), tag)


def _owner(text: bytes) -> str | None:
    try:
        task: str | None = json.loads(text)["task"]
        return task
    except (ValueError, KeyError, TypeError, RecursionError):
        return "of unknown name"
