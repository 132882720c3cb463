"""A project folder and its scene, brought into object storage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from kiln_ray import project as records
from kiln_ray.project import Project, ProjectError
from kiln_ray.storage import Storage, at_once

PHOTOS = "scene/images/"
#: What of a project is not brought along: results, and what a cluster writes.
NOT_INPUTS = (records.MERGED, records.PROGRESS, records.INDEX)


def push(folder: Path, storage: Storage, say: Callable[[str], None]) -> int:
    """Uploads a project, its photos and its trained blocks; what is there in the same size already stays.

    The index goes last, so that a project that can be opened is whole. Returns the number of files that were sent.

    Raises:
        ProjectError: when the folder holds no project, the storage another one, or a file of the scene is not there.
    """
    index = folder / records.INDEX
    if not index.is_file():
        raise ProjectError(f"{folder} holds no project; `kiln split` makes one")
    project = Project.read(records.read_file(index), str(index))
    there = storage.read(records.INDEX)
    if there is not None and there != project.text:
        found = Project.read(there, f"{storage.url}/{records.INDEX}")
        if found.identity == project.identity and found.blocks != project.blocks:
            raise ProjectError(f"{storage.url} holds this project with other blocks cut in two; it goes on with those")
        raise ProjectError(f"{storage.url} holds another project; name a place of its own for this one")
    sizes = dict(storage.names(""))
    photos: list[tuple[Path, str]] = []
    others: list[tuple[Path, str]] = []
    for path, key in files(folder, project):
        if not path.is_file():
            raise ProjectError(f"{path} is not there, and the project was split from it")
        if not key.startswith(PHOTOS):
            others.append((path, key))
        elif sizes.get(key) != path.stat().st_size:
            photos.append((path, key))
    say(f"sending {len(photos)} photos and {len(others)} other files")
    at_once(lambda pair: storage.upload(*pair), photos)
    # One after the other: what is listed last is there last.
    for path, key in others:
        storage.upload(path, key)
    sent = len(photos) + len(others)
    if there is None:
        storage.write(records.INDEX, project.text)
        sent += 1
    return sent


def files(folder: Path, project: Project) -> Iterator[tuple[Path, str]]:
    """Files of a project and its scene but the index, with their keys; of trained blocks the model and `done.json`."""
    scene = project.record["scene"]
    for photo in scene["photos"]:
        yield Path(scene["images"]) / photo["name"], f"{PHOTOS}{photo['name']}"
    for file in scene["model"]:
        yield Path(scene["sparse"]) / file["name"], f"scene/sparse/{file['name']}"
    for entry in sorted(folder.iterdir()):
        if entry.name in NOT_INPUTS or entry.name == "blocks" or entry.name.startswith("."):
            continue
        for path in [entry] if entry.is_file() else sorted(entry.rglob("*")):
            if path.is_file():
                if not path.resolve().is_relative_to(folder.resolve()):
                    raise ProjectError(f"{path} is a link that leads out of the project")
                yield path, path.relative_to(folder).as_posix()
    for name in project.blocks:
        yield from _block_files(folder, project, name)


def _block_files(folder: Path, project: Project, name: str) -> Iterator[tuple[Path, str]]:
    block = folder / "blocks" / name
    index = block / records.BLOCK
    if not index.is_file():
        raise ProjectError(f"the block {block} is missing")
    record = records.parse(records.read_file(index), str(index))
    inputs = [records.BLOCK, *records.names_in(record, "files", str(index))]
    done = block / records.DONE
    if done.is_file() and project.is_done(name, text := records.read_file(done)):
        inputs += [records.model_of(text, str(done))[0], records.DONE]
    for file in inputs:
        if not (block / file).resolve().is_relative_to(folder.resolve()):
            raise ProjectError(f"{block / file} is a link that leads out of the project")
        yield block / file, f"blocks/{name}/{file}"
