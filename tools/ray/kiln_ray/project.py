"""What of a project's records the cluster needs: names of blocks, digests, files."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSION = 1
INDEX = "project.json"
BLOCK = "block.json"
DONE = "done.json"
PROGRESS = "progress.json"
MERGED = "merged"
MERGED_MODEL = "merged/point_cloud.ply"
MERGED_INDEX = "merged/point_cloud.index.json"
#: Bytes of the largest record that is read; the index of a hundred thousand photos has a tenth of them.
MOST_BYTES = 64 << 20


class ProjectError(Exception):
    """A project that cannot be used."""


def parse(text: bytes, where: str) -> dict[str, Any]:
    """A record of the version that is known here.

    Raises:
        ProjectError: when it is no such record.
    """
    try:
        record = json.loads(text)
        version = record["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ProjectError(f"{where} is no record of kiln: {error}") from error
    if version != VERSION:
        raise ProjectError(f"{where} has version {version}, and this package knows {VERSION}")
    return record


def read_file(path: Path) -> bytes:
    """The bytes of a record in a folder. A pipe in its place is not waited for, and a file too large for one is not read.

    Raises:
        ProjectError: when it is no file, or too large; OSError when there is none, or it cannot be read.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ProjectError(f"{path} is no file")
        check_size(found.st_size, str(path))
        return file.read(MOST_BYTES)


def check_size(size: int, where: str) -> None:
    """Raises ProjectError for more bytes than a record may have."""
    if size > MOST_BYTES:
        raise ProjectError(f"{where} has {size} bytes, and a record has {MOST_BYTES} at most")


def names_in(record: dict[str, Any], key: str, where: str) -> list[str]:
    """Names of files in a list of a record, whose entries are names or have one. They become parts of paths.

    Raises:
        ProjectError: when there is no such list, or a name leaves its folder.
    """
    entries = record.get(key)
    if not isinstance(entries, list):
        raise ProjectError(f"{where} has no list `{key}`")
    names = [entry.get("name") if isinstance(entry, dict) else entry for entry in entries]
    for name in names:
        inside(name, where)
    return names


def inside(name: Any, where: str) -> str:
    """A name that stays in its folder.

    Raises:
        ProjectError: for any other.
    """
    if not isinstance(name, str) or not is_inside(name):
        raise ProjectError(f"{where} names `{name}`, which leaves its folder")
    return name


def sha256(data: bytes) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class Project:
    """The index of a project, as `kiln split` wrote it."""

    text: bytes
    record: dict[str, Any]

    @classmethod
    def read(cls, text: bytes, where: str) -> Project:
        """From the bytes of `project.json`."""
        record = parse(text, where)
        try:
            names = [block["name"] for block in record["blocks"]]
            texts = [block["digest"] for block in record["blocks"]]
            scene = record["scene"]
            texts += [scene["images"], scene["sparse"]]
            sizes = [photo["bytes"] for photo in scene["photos"]]
        except (KeyError, TypeError) as error:
            raise ProjectError(f"{where} has no {error}") from error
        # Names become parts of paths.
        if any(not isinstance(name, str) or not is_plain(name) for name in names):
            raise ProjectError(f"{where} names a block that is no name of a folder")
        if len(set(names)) < len(names):
            raise ProjectError(f"{where} names a block twice")
        if not all(isinstance(text, str) for text in texts) or not all(type(size) is int for size in sizes):
            raise ProjectError(f"{where} has a digest, a path or a size of another type")
        for key in ("model", "photos"):
            names_in(scene, key, where)
        return cls(text, record)

    @property
    def digest(self) -> str:
        """SHA-256 of `project.json`."""
        return sha256(self.text)

    @property
    def blocks(self) -> list[str]:
        """Names of the blocks, in their order."""
        return [block["name"] for block in self.record["blocks"]]

    @property
    def identity(self) -> str:
        """SHA-256 of what stays the same when blocks are cut in two."""
        kept = {key: value for key, value in self.record.items() if key not in ("blocks", "views_used")}
        return sha256(json.dumps(kept, sort_keys=True).encode())

    def entry(self, name: str) -> dict[str, Any]:
        """What the index says of a block.

        Raises:
            ProjectError: when it lists no such block.
        """
        for block in self.record["blocks"]:
            if block["name"] == name:
                found: dict[str, Any] = block
                return found
        raise ProjectError(f"{INDEX} lists no block {name}")

    def block_digest(self, name: str) -> str:
        """SHA-256 of a block's `block.json`."""
        digest: str = self.entry(name)["digest"]
        return digest

    @staticmethod
    def views(block: bytes | None) -> int:
        """Training views of a block by its `block.json`; 0 when that says nothing: `kiln` judges it when the block begins."""
        try:
            return len(json.loads(block or b"{}")["train_views"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return 0

    def parts_of(self, name: str) -> list[str]:
        """Names of the parts that a block was cut into; none for one that is whole."""
        return [block for block in self.blocks if re.fullmatch(f"{re.escape(name)}[ab]+", block)]

    def is_done(self, name: str, done: bytes | None) -> bool:
        """True when `done.json` says that this very block is trained."""
        if done is None:
            return False
        try:
            return parse(done, DONE).get("block") == self.block_digest(name)
        except ProjectError:
            return False


def model_of(done: bytes, where: str) -> tuple[str, str]:
    """Name and digest of a trained block's model, by its `done.json`.

    Raises:
        ProjectError: when it names none that lies in the block's folder.
    """
    model = parse(done, where).get("model")
    if not isinstance(model, dict) or not isinstance(model.get("sha256"), str):
        raise ProjectError(f"{where} names no model")
    return inside(model.get("name"), where), model["sha256"]


def cuts_of(name: str) -> int:
    """How often a block of the split was cut until there was one of this name: `kiln split` adds a letter to halves."""
    letters = re.search(r"\d([ab]*)$", name)
    return len(letters[1]) if letters else 0


def is_plain(name: str) -> bool:
    """True for a name that stays in its folder."""
    return bool(name) and not any(mark in name for mark in "/\\\0") and name not in (".", "..")


def is_inside(name: str) -> bool:
    """True for a relative path that stays in its folder."""
    return all(is_plain(part) for part in name.split("/"))
