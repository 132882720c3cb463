"""Object storage: files up and down, and records that one writer at a time replaces.

Everything goes through `obstore`, so S3, GCS, Azure and folders are one to the rest of the package. Credentials are
those that `obstore` finds in the environment of each node.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError, PreconditionError
from obstore.store import LocalStore, from_url

from kiln_ray.project import ProjectError, check_size

#: What storage raises when it does not answer or refuses.
ERRORS = (BaseError, OSError)
#: Bytes that a download holds in memory.
CHUNK = 8 << 20
#: Small transfers under way at a time.
SIDE_BY_SIDE = 16
T = TypeVar("T")


def is_url(project: str) -> bool:
    """True for a project in storage, false for a folder."""
    return "://" in project


def at_once(work: Callable[[T], object], items: Iterable[T]) -> None:
    """Does many small transfers side by side; the first that fails is raised."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for _ in pool.map(work, items):
            pass


class Tag:
    """What a record was when it was read or written: whoever replaces it says which one."""

    def __init__(self, text: bytes, result: Any, modified: datetime | None = None) -> None:
        self.text = text
        self.modified = modified
        #: Options of the storage.
        self.update = {key: result[key] for key in ("e_tag", "version") if result.get(key)}


class Storage:
    """A prefix in object storage."""

    def __init__(self, store: Any, url: str = "") -> None:
        self.store = store
        self.url = url.rstrip("/")

    @classmethod
    def at(cls, url: str) -> Storage:
        """The storage at a URL: ``s3://``, ``gs://``, ``az://`` or ``file://``."""
        url = url.rstrip("/")
        if url.startswith("file://"):
            return cls(LocalStore(url.removeprefix("file://"), mkdir=True), url)
        return cls(from_url(url), url)

    def read(self, key: str) -> bytes | None:
        """The bytes of a small object; none when there is none."""
        found = self.read_tagged(key)
        return None if found is None else found.text

    def read_tagged(self, key: str) -> Tag | None:
        """A small object and its tag; none when there is none.

        Raises:
            ProjectError: when it is no file, or too large for a record.
        """
        try:
            result = self._get(key)
            check_size(result.meta["size"], f"{self.url}/{key}")
            text = bytes(result.bytes())
        except (FileNotFoundError, NotFoundError):
            return None
        return Tag(text, result.meta, result.meta["last_modified"])

    def _get(self, key: str) -> Any:
        if isinstance(self.store, LocalStore):
            # Whoever opens a pipe waits for its other end.
            path = self._local(key)
            if path.exists() and not path.is_file():
                raise ProjectError(f"{path} is no file")
        return obstore.get(self.store, key)

    def _own(self, key: str, text: bytes) -> Tag | None:
        """What was written, where its answer was lost and writing it again failed; none when it is another's."""
        found = self.read_tagged(key)
        return found if found and found.text == text else None

    def write(self, key: str, text: bytes) -> None:
        """Writes a small object, whatever was there."""
        obstore.put(self.store, key, text)

    def create(self, key: str, text: bytes) -> Tag | None:
        """Writes an object that must not be there; none when it is."""
        try:
            return Tag(text, obstore.put(self.store, key, text, mode="create"))
        except (AlreadyExistsError, PreconditionError):
            return self._own(key, text)

    def replace(self, key: str, text: bytes, tag: Tag) -> Tag | None:
        """Writes an object that must be as `tag` says; none when it is another by now."""
        if isinstance(self.store, LocalStore):
            return self._replace_file(key, text, tag)
        try:
            update: Any = tag.update
            return Tag(text, obstore.put(self.store, key, text, mode=update))
        except (AlreadyExistsError, FileNotFoundError, NotFoundError, PreconditionError):
            return self._own(key, text)

    def _replace_file(self, key: str, text: bytes, tag: Tag) -> Tag | None:
        # Folders have no conditional put: a lock stands in for it, for everybody who comes this way.
        path = self._local(f"{key}.lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(path, flags, 0o666), "rb", buffering=0) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = self.read(key)
            if found is None or found != tag.text:
                return None
            return Tag(text, obstore.put(self.store, key, text))

    def _local(self, key: str) -> Path:
        return Path(str(self.store.prefix)) / key

    def delete(self, key: str) -> None:
        """Deletes an object, if it is there."""
        with contextlib.suppress(FileNotFoundError, NotFoundError):
            obstore.delete(self.store, key)

    def names(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Keys below a folder, with their sizes in bytes."""
        for page in obstore.list(self.store, prefix=prefix.rstrip("/")):
            for entry in page:
                yield entry["path"], entry["size"]

    def upload(self, path: Path, key: str) -> None:
        """Writes a file."""
        with open(path, "rb") as file:
            obstore.put(self.store, key, file)

    def download(self, key: str, path: Path) -> None:
        """Fetches a file, which appears whole or not at all.

        Raises:
            FileNotFoundError: when it is not there; and those of `ERRORS`.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
        try:
            result = self._get(key)
            with open(part, "xb") as file:
                for piece in result.stream(min_chunk_size=CHUNK):
                    file.write(piece)
            os.replace(part, path)
        except (FileNotFoundError, NotFoundError) as error:
            raise FileNotFoundError(f"{self.url}/{key} is not there") from error
        finally:
            part.unlink(missing_ok=True)
