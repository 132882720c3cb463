"""A block of a project in storage, brought to a node and back.

In storage a project is its folder as `kiln split` made it, and its scene beside it::

    project.json  blocks.txt  settings/  blocks/b0000/{block.json, sparse/, masks/, ...}
    scene/sparse/  scene/images/
    blocks/b0000/{lease.json, checkpoint.json, run/, done.json}  merged/  progress.json

On a node photos are shared by all tasks of that host. Each Ray node has a copy of the project in which the scene's
paths are relative to a block's folder, where `kiln` is started; so a checkpoint of one node fits every other.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from kiln_ray import project as records
from kiln_ray.project import Project, ProjectError
from kiln_ray.storage import Storage, at_once

#: The scene, as seen from a block's folder on a node.
SCENE_FROM_BLOCK = "../../../scene"
MARKER = "checkpoint.json"
CHECKPOINTS = "checkpoints"
#: Records of a run that a checkpoint needs to go on, and those that grow with it.
RUN_RECORDS = ("config.resolved.yaml", "env.json", "metrics.jsonl", "memory.jsonl", "run.json")


def read_project(storage: Storage) -> Project:
    """The index of the project at a URL."""
    text = storage.read(records.INDEX)
    if text is None:
        raise ProjectError(f"{storage.url} holds no project; `kiln-ray push PROJECT {storage.url}` brings one there")
    return Project.read(text, f"{storage.url}/{records.INDEX}")


class NodeCopy:
    """What of a project lies on this node."""

    def __init__(self, storage: Storage, project: Project, work: Path, node: str, use: str | None = None) -> None:
        """`use` names a copy apart from that of the blocks, whose index no other task writes."""
        self.storage = storage
        self.project = project
        _own_folder(work)
        # Another project at the same URL is another folder; one with a block cut in two is the same.
        self._host = work / project.identity[:16]
        self._root = self._host / (f"node-{node[:16]}" + (f"-{use}" if use else ""))

    def forget(self) -> None:
        """Removes this copy; photos of the node stay."""
        shutil.rmtree(self._root, ignore_errors=True)

    def block_folder(self, name: str) -> Path:
        """Where a block lies on this node."""
        return self._root / "blocks" / name

    def is_done(self, name: str) -> bool:
        """True when a block is trained, by its record in storage."""
        return self.project.is_done(name, self.storage.read(f"blocks/{name}/{records.DONE}"))

    def bring_block(self, name: str) -> Path:
        """Fetches what a block is trained on; what is here already stays."""
        record = json.loads(json.dumps(self.project.record))
        scene = record["scene"]
        scene.update(path=SCENE_FROM_BLOCK, images=f"{SCENE_FROM_BLOCK}/images", sparse=f"{SCENE_FROM_BLOCK}/sparse")
        self._root.mkdir(parents=True, exist_ok=True)
        _write_whole(self._root / records.INDEX, json.dumps(record).encode())
        for key, _ in self.storage.names("settings"):
            self._bring(key, self._root / records.inside(key, self.storage.url))
        folder = self.block_folder(name)
        block = self._bring_block_index(name, folder)
        where = f"{self.storage.url}/blocks/{name}/{records.BLOCK}"
        for file in records.names_in(block, "files", where):
            self._bring(f"blocks/{name}/{file}", folder / file)
        for file in records.names_in(scene, "model", records.INDEX):
            self._bring(f"scene/sparse/{file}", self._host / "scene/sparse" / file)
        sizes = {photo["name"]: photo["bytes"] for photo in scene["photos"]}

        def bring_photo(photo: str) -> None:
            self._bring(f"scene/images/{photo}", self._host / "scene/images" / photo, sizes.get(photo))

        views = [view for key in ("train_views", "test_views") for view in records.names_in(block, key, where)]
        at_once(bring_photo, views)
        return folder

    def _bring_block_index(self, name: str, folder: Path) -> dict[str, Any]:
        key = f"blocks/{name}/{records.BLOCK}"
        text = self.storage.read(key)
        if text is None or records.sha256(text) != self.project.block_digest(name):
            what = "is missing" if text is None else f"is not the block that {records.INDEX} lists"
            raise ProjectError(f"{self.storage.url}/{key} {what}; push the project again")
        index = folder / records.BLOCK
        if index.is_file() and index.read_bytes() != text:
            # Of another split with the same options.
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        _write_whole(index, text)
        return records.parse(text, key)

    def save_inputs(self, name: str) -> None:
        """Puts what a block that was made here is trained on into storage."""
        folder = self.block_folder(name)
        index = folder / records.BLOCK
        block = records.parse(records.read_file(index), str(index))
        for file in [*records.names_in(block, "files", str(index)), records.BLOCK]:
            self.storage.upload(folder / file, f"blocks/{name}/{file}")

    def _bring(self, key: str, path: Path, size: int | None = None) -> None:
        if path.is_file() and (size is None or path.stat().st_size == size):
            return
        try:
            self.storage.download(key, path)
        except FileNotFoundError as error:
            raise ProjectError(f"{error}; push the project again") from error
        found = path.stat().st_size
        if size is not None and found != size:
            path.unlink()
            raise ProjectError(f"{self.storage.url}/{key} has {found} bytes and not {size}; push the project again")

    def bring_checkpoint(self, name: str) -> int | None:
        """Puts the block's newest checkpoint in storage where its run goes on, unless the run here is as far.

        Returns the iteration it is of, none without one.
        """
        text = self.storage.read(f"blocks/{name}/{MARKER}")
        if text is None:
            return None
        where = f"{self.storage.url}/blocks/{name}/{MARKER}"
        marker = records.parse(text, where)
        if marker.get("block") != self.project.block_digest(name):
            return None
        iteration = marker.get("iteration")
        if type(iteration) is not int:
            raise ProjectError(f"{where} has no iteration")
        files = [*records.names_in(marker, "records", where), records.inside(marker.get("file"), where)]
        run = self.block_folder(name) / "run"
        here = newest_checkpoint(run)
        if here and iteration_of(here) >= iteration:
            return iteration_of(here)
        shutil.rmtree(run, ignore_errors=True)
        try:
            for file in files:
                self.storage.download(f"blocks/{name}/run/{file}", run / file)
        except FileNotFoundError:
            # A task that had lost the block wrote or deleted late: what the marker names will not come any more.
            shutil.rmtree(run, ignore_errors=True)
            return None
        return iteration

    def save_checkpoint(
        self, name: str, last: str | None, confirm: Callable[[], None] = lambda: None
    ) -> str | None:
        """Puts the run's newest checkpoint into storage: the file, then what belongs to it, then the marker.

        Uploads may take long: `confirm` raises when the block is another task's by then, before the marker is replaced.
        Returns the name of the newest checkpoint in storage; `last` is the one before.
        """
        run = self.block_folder(name) / "run"
        newest = newest_checkpoint(run)
        if newest is None or newest.name == last:
            return last
        at = f"blocks/{name}"
        file = f"{CHECKPOINTS}/{newest.name}"
        try:
            self.storage.upload(newest, f"{at}/run/{file}")
        except FileNotFoundError:
            # The run keeps the newest two, and this was neither any more: the next one is as good.
            return last
        found = [record for record in RUN_RECORDS if (run / record).is_file()]
        for record in found:
            self.storage.upload(run / record, f"{at}/run/{record}")
        marker = {
            "version": records.VERSION,
            "block": self.project.block_digest(name),
            "iteration": iteration_of(newest),
            "file": file,
            "records": found,
        }
        confirm()
        self.storage.write(f"{at}/{MARKER}", json.dumps(marker).encode())
        self._delete_checkpoints(name, but=f"{at}/run/{file}")
        return newest.name

    def save_run(self, name: str, confirm: Callable[[], None] = lambda: None) -> None:
        """Puts a complete run into storage, `done.json` last, and frees the node of it.

        `confirm` raises when the block is another task's: before each file, so that files of two runs are not mixed.
        """
        folder = self.block_folder(name)
        run = folder / "run"
        for path in sorted(run.rglob("*")):
            inside = path.relative_to(run)
            if path.is_file() and inside.parts[0] != CHECKPOINTS:
                confirm()
                self.storage.upload(path, f"blocks/{name}/run/{inside.as_posix()}")
        confirm()
        self.storage.upload(folder / records.DONE, f"blocks/{name}/{records.DONE}")
        self.storage.delete(f"blocks/{name}/{MARKER}")
        self._delete_checkpoints(name, but="")
        shutil.rmtree(folder, ignore_errors=True)

    def _delete_checkpoints(self, name: str, but: str) -> None:
        for key, _ in list(self.storage.names(f"blocks/{name}/run/{CHECKPOINTS}")):
            if key != but:
                self.storage.delete(key)

    def is_merged(self) -> bool:
        """True when the merged model in storage is that of the blocks there."""
        text = self.storage.read(records.MERGED_INDEX)
        if text is None:
            return False
        try:
            index = records.parse(text, records.MERGED_INDEX)
            merged = (index["project"], [block["sha256"] for block in index["blocks"]])
        except (ProjectError, KeyError, TypeError):
            # It is merged again.
            return False
        return merged == (self.project.digest, [self._model(name)[1] for name in self.project.blocks])

    def _model(self, name: str) -> tuple[str, str, bytes]:
        """Name and digest of a trained block's model, and its `done.json` in storage that names them."""
        done = self.storage.read(f"blocks/{name}/{records.DONE}")
        if done is None or not self.project.is_done(name, done):
            raise ProjectError(f"{self.storage.url}/blocks/{name} is not trained")
        return *records.model_of(done, f"{self.storage.url}/blocks/{name}/{records.DONE}"), done

    @contextlib.contextmanager
    def models(self) -> Iterator[Path]:
        """A folder with what a merge reads, gone afterwards: the index as it is, and the blocks' models and records."""
        self._host.mkdir(parents=True, exist_ok=True)
        root = Path(tempfile.mkdtemp(prefix="merge-", dir=self._host))
        try:
            self._bring_models(root)
            yield root
        finally:
            shutil.rmtree(root, ignore_errors=True)

    def _bring_models(self, root: Path) -> None:
        _write_whole(root / records.INDEX, self.project.text)
        for name in self.project.blocks:
            folder = root / "blocks" / name
            self._bring_block_index(name, folder)
            model, _, done = self._model(name)
            self.storage.download(f"blocks/{name}/{model}", folder / model)
            _write_whole(folder / records.DONE, done)

    def save_merged(self, root: Path) -> None:
        """Puts the merged model into storage, its index last."""
        folder = root / records.MERGED
        files = sorted((path for path in folder.iterdir() if path.is_file()), key=lambda path: path.suffix != ".ply")
        for path in files:
            self.storage.upload(path, f"{records.MERGED}/{path.name}")


def _own_folder(work: Path) -> None:
    """Makes the folder of this node's copies, for this user alone. Others may have made it before, where all may write."""
    work.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = work.lstat()
    above = work.parent.stat()
    if above.st_mode & stat.S_ISVTX and (stat.S_ISLNK(found.st_mode) or found.st_uid not in (os.getuid(), 0)):
        raise ProjectError(f"{work} is somebody else's; `--work FOLDER` names another")


def newest_checkpoint(run: Path) -> Path | None:
    """The newest checkpoint of a run folder."""
    found = (run / CHECKPOINTS).glob("checkpoint_*.kiln")
    return max(found, key=iteration_of, default=None)


def iteration_of(checkpoint: Path | PurePosixPath) -> int:
    """The iteration in a checkpoint's name, -1 when there is none."""
    digits = checkpoint.stem.rpartition("_")[2]
    return int(digits) if digits.isascii() and digits.isdigit() else -1


def _write_whole(path: Path, text: bytes) -> None:
    if path.is_file() and path.read_bytes() == text:
        return
    # Another task of this node may write the same.
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    with open(part, "xb") as file:
        file.write(text)
    part.replace(path)
