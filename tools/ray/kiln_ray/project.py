"""What of a project's records the cluster needs: names of blocks, digests, files."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

VERSION = 1
INDEX = "project.json"
BLOCK = "block.json"
DONE = "done.json"
PROGRESS = "progress.json"
MERGED = "merged"
MERGED_MODEL = "merged/point_cloud.ply"
MERGED_INDEX = "merged/point_cloud.index.json"


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
    except (ValueError, KeyError, TypeError) as error:
        raise ProjectError(f"{where} is no record of kiln: {error}") from error
    if version != VERSION:
        raise ProjectError(f"{where} has version {version}, and this package knows {VERSION}")
    return record


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
            _ = [block["digest"] for block in record["blocks"]]
            scene = record["scene"]
            _ = (scene["images"], scene["sparse"], scene["model"], scene["photos"])
        except (KeyError, TypeError) as error:
            raise ProjectError(f"{where} has no {error}") from error
        # Names become parts of paths.
        if any(not is_plain(name) for name in names):
            raise ProjectError(f"{where} names a block that is no name of a folder")
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
        except (ValueError, KeyError, TypeError):
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


def cuts_of(name: str) -> int:
    """How often a block of the split was cut until there was one of this name: `kiln split` adds a letter to halves."""
    letters = re.search(r"\d([ab]*)$", name)
    return len(letters[1]) if letters else 0


def is_plain(name: str) -> bool:
    """True for a name that stays in its folder."""
    return bool(name) and "/" not in name and "\\" not in name and name not in (".", "..")


def is_inside(name: str) -> bool:
    """True for a relative path that stays in its folder."""
    return all(is_plain(part) for part in name.split("/"))
