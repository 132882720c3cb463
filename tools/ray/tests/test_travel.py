"""Projects in storage: what goes there, what comes to a node, where a run goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kiln_ray import cli, cut
from kiln_ray import project as records
from kiln_ray.cut import replace, settle
from kiln_ray.drive import Place
from kiln_ray.lease import Lost
from kiln_ray.project import Project, ProjectError
from kiln_ray.push import push
from kiln_ray.storage import Storage, Tag
from kiln_ray.travel import MARKER, NodeCopy, iteration_of, newest_checkpoint, read_project


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage.at(f"file://{tmp_path}/bucket")


@pytest.fixture
def copy(storage: Storage, project: Path, tmp_path: Path) -> NodeCopy:
    push(project, storage, print)
    return NodeCopy(storage, read_project(storage), tmp_path / "work", "1234")


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def checkpoint(run: Path, iteration: int) -> None:
    (run / "checkpoints").mkdir(parents=True, exist_ok=True)
    (run / f"checkpoints/checkpoint_{iteration:08}.kiln").write_text(f"state {iteration}")
    for record in ("run.json", "metrics.jsonl"):
        (run / record).write_text(f"{iteration}")


def test_a_project_is_pushed_once_and_not_over_another(storage: Storage, project: Path, tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="kiln-ray push"):
        read_project(storage)
    # Results stay behind, half of one too.
    (project / "blocks/b0000/run").mkdir()
    (project / "blocks/b0000/run/run.json").write_text("{}")
    sent = push(project, storage, print)
    there = files(tmp_path / "bucket")
    assert sent == len(there) and {"project.json", "blocks.txt", "scene/sparse/points3D.bin"} <= there
    assert sum(1 for key in there if key.startswith("scene/images/")) == 40
    assert not any("/run/" in key for key in there)
    again = push(project, storage, print)
    assert again == sent - 41
    index = json.loads((project / "project.json").read_text())
    (project / "project.json").write_text(json.dumps(index))
    with pytest.raises(ProjectError, match="another project"):
        push(project, storage, print)


def test_a_block_comes_with_its_photos_and_without_other_blocks(copy: NodeCopy, project: Path) -> None:
    folder = copy.bring_block("b0000")
    index = json.loads((folder / "block.json").read_text())
    views = {*index["train_views"], *index["test_views"]}
    images = folder / "../../../scene/images"
    assert {path.name for path in images.iterdir()} == views
    for view in views:
        scene = json.loads((project / "project.json").read_text())["scene"]
        assert (images / view).read_bytes() == (Path(scene["images"]) / view).read_bytes()
    there = json.loads((folder / "../../project.json").read_text())["scene"]
    assert (folder / there["images"]).is_dir() and (folder / there["sparse"] / "points3D.bin").is_file()
    assert files(folder) == files(project / "blocks/b0000") and [path.name for path in folder.parent.iterdir()] == [
        "b0000"
    ]


def test_a_run_goes_on_from_the_furthest_checkpoint(copy: NodeCopy, storage: Storage, tmp_path: Path) -> None:
    run = copy.bring_block("b0000") / "run"
    assert copy.bring_checkpoint("b0000") is None and copy.save_checkpoint("b0000", None) is None
    checkpoint(run, 20)
    last = copy.save_checkpoint("b0000", None)
    checkpoint(run, 40)
    assert copy.save_checkpoint("b0000", last) == "checkpoint_00000040.kiln"
    assert files(tmp_path / "bucket/blocks/b0000/run") == {
        "checkpoints/checkpoint_00000040.kiln",
        "run.json",
        "metrics.jsonl",
    }
    # On another node, and here, where the run is further by now.
    other = NodeCopy(storage, copy.project, tmp_path / "work", "5678")
    found = other.bring_block("b0000") / "run"
    checkpoint(found, 20)
    assert other.bring_checkpoint("b0000") == 40
    assert files(found) == {"checkpoints/checkpoint_00000040.kiln", "run.json", "metrics.jsonl"}
    checkpoint(run, 60)
    assert copy.bring_checkpoint("b0000") == 60
    newest = newest_checkpoint(run)
    assert newest is not None and iteration_of(newest) == 60
    # That of a block of another split is left alone.
    marker = json.loads(storage.read(f"blocks/b0000/{MARKER}") or b"")
    storage.write(f"blocks/b0000/{MARKER}", json.dumps({**marker, "block": "0" * 64, "iteration": 90}).encode())
    assert copy.bring_checkpoint("b0000") is None


def test_blocks_are_cut_in_the_index_one_after_the_other(storage: Storage, copy: NodeCopy) -> None:
    def after(name: str, used: float) -> Project:
        record = json.loads(copy.project.text)
        at = copy.project.blocks.index(name)
        record["blocks"][at : at + 1] = [{"name": f"{name}{half}", "digest": half * 64} for half in "ab"]
        record["views_used"] += used
        return Project.read(json.dumps(record).encode(), "after")

    # Both begin with the same index.
    replace(storage, "b0001", after("b0001", 0.5), copy.project)
    replace(storage, "b0000", after("b0000", 0.25), copy.project)
    found = read_project(storage)
    assert found.blocks == ["b0000a", "b0000b", "b0001a", "b0001b"]
    assert found.record["views_used"] == copy.project.record["views_used"] + 0.75
    assert found.identity == copy.project.identity and found.digest != copy.project.digest
    # Done twice, as after a task that was killed before it said so, and what follows it is done once more.
    before = storage.read("project.json")
    replace(storage, "b0000", after("b0000", 0.25), copy.project)
    assert storage.read("project.json") == before
    settle(storage, "b0000")
    settle(storage, "b0000")
    assert storage.read("blocks.txt") == b"b0000a\nb0000b\nb0001a\nb0001b\n"
    assert not list(storage.names("blocks/b0000")) and list(storage.names("blocks/b0001"))


def test_the_list_of_blocks_has_the_halves_of_all_cuts(
    storage: Storage, copy: NodeCopy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(name: str) -> None:
        record = json.loads(storage.read("project.json") or b"")
        at = [block["name"] for block in record["blocks"]].index(name)
        record["blocks"][at : at + 1] = [{"name": f"{name}{half}", "digest": half * 64} for half in "ab"]
        storage.write("project.json", json.dumps(record).encode())

    cut("b0000")
    read = storage.read

    def read_and_be_late(key: str) -> bytes | None:
        text = read(key)
        if key == "project.json":
            # Another cut comes between the index that is read here and the list that is written of it.
            monkeypatch.setattr(storage, "read", read)
            cut("b0001")
            settle(storage, "b0001")
        return text

    monkeypatch.setattr(storage, "read", read_and_be_late)
    settle(storage, "b0000")
    assert storage.read("blocks.txt") == b"b0000a\nb0000b\nb0001a\nb0001b\n"


@pytest.mark.parametrize("old_answers", [1, 10_000])
def test_storage_that_answers_with_an_old_index_loses_no_cut(
    storage: Storage, copy: NodeCopy, monkeypatch: pytest.MonkeyPatch, old_answers: int
) -> None:
    def after(name: str) -> Project:
        record = json.loads(copy.project.text)
        at = copy.project.blocks.index(name)
        record["blocks"][at : at + 1] = [{"name": f"{name}{half}", "digest": half * 64} for half in "ab"]
        return Project.read(json.dumps(record).encode(), "after")

    monkeypatch.setattr(cut, "PAUSE_S", 0.001)
    old = {key: storage.read_tagged(key) for key in ("project.json", "blocks.txt")}
    replace(storage, "b0001", after("b0001"), copy.project)
    settle(storage, "b0001")
    new = storage.read_tagged
    left = dict.fromkeys(old, old_answers)

    def answer(key: str) -> Tag | None:
        left[key] -= 1
        return old[key] if left[key] >= 0 else new(key)

    # What replaces it must be looked at, however it is read here.
    monkeypatch.setattr(storage, "_replace_file", lambda key, text, tag: _replaced(storage, key, text, tag, new))
    monkeypatch.setattr(storage, "read_tagged", answer)
    if old_answers == 1:
        replace(storage, "b0000", after("b0000"), copy.project)
        settle(storage, "b0000")
        names = ["b0000a", "b0000b", "b0001a", "b0001b"]
    else:
        with pytest.raises(OSError, match="was another than it was read as"):
            replace(storage, "b0000", after("b0000"), copy.project)
        names = ["b0000", "b0001a", "b0001b"]
    monkeypatch.setattr(storage, "read_tagged", new)
    assert read_project(storage).blocks == names
    assert (storage.read("blocks.txt") or b"").decode().split() == names


def _replaced(
    storage: Storage, key: str, text: bytes, tag: Tag, read: Callable[[str], Tag | None]
) -> Tag | None:
    found = read(key)
    if found is None or found.text != tag.text:
        return None
    storage.write(key, text)
    return Tag(text, {})


def test_a_project_that_was_cut_is_not_pushed_over(storage: Storage, project: Path, copy: NodeCopy) -> None:
    record = json.loads(copy.project.text)
    record["blocks"][0]["name"] = "b0000a"
    storage.write("project.json", json.dumps(record).encode())
    with pytest.raises(ProjectError, match="cut in two"):
        push(project, storage, print)


def test_what_is_missing_or_leaves_its_folder_is_refused(copy: NodeCopy, storage: Storage) -> None:
    storage.delete("scene/sparse/points3D.bin")
    with pytest.raises(ProjectError, match=r"points3D\.bin is not there"):
        copy.bring_block("b0000")
    storage.write("blocks/b0001/block.json", b"{}")
    with pytest.raises(ProjectError, match="not the block"):
        copy.bring_block("b0001")
    record = json.loads(copy.project.text)
    record["blocks"][0]["name"] = "../b0000"
    with pytest.raises(ProjectError, match="no name of a folder"):
        Project.read(json.dumps(record).encode(), "project.json")
    with pytest.raises(ProjectError, match="version 2"):
        Project.read(json.dumps({**record, "version": 2}).encode(), "project.json")


def test_wrong_commands_say_what_is_wrong(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", str(tmp_path)]) == 4
    assert "holds no project; `kiln split` makes one" in capsys.readouterr().err
    assert cli.main(["run", f"file://{tmp_path}/none"]) == 4
    assert "kiln-ray push" in capsys.readouterr().err
    assert cli.main(["push", str(project), str(tmp_path / "bucket")]) == 2
    assert "no URL" in capsys.readouterr().err
    assert cli.main(["run", f"file://{tmp_path}/none", "--eval"]) == 2
    assert "a folder that all nodes see" in capsys.readouterr().err
    for wrong in (["run"], ["run", "x", "--gpus-per-task", "2"], ["run", "x", "--sync-s", "0"]):
        with pytest.raises(SystemExit) as end:
            cli.main(wrong)
        assert end.value.code == 2


HOSTILE = {
    "no JSON": b"{",
    "deep": b"[" * 100_000,
    "a list": b"[1]",
    "another version": b'{"version": 2}',
    "nothing": b'{"version": 1}',
    "another block": b'{"version": 1, "block": "0", "model": {"name": "run/a.ply", "sha256": "0"}}',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_record_that_says_nothing_of_a_block_trains_it_anew(copy: NodeCopy, storage: Storage, text: bytes) -> None:
    storage.write("blocks/b0000/done.json", text)
    assert not copy.is_done("b0000")
    with pytest.raises(ProjectError, match="is not trained"), copy.models():
        pass
    # A merged model's index that is damaged is one that is made anew.
    storage.write("merged/point_cloud.index.json", text)
    assert not copy.is_merged()


@pytest.mark.parametrize(
    "model",
    [None, 7, [], {}, {"name": "a.ply"}, {"name": 7, "sha256": "0"}, {"name": "../a.ply", "sha256": "0"}]
    + [{"name": name, "sha256": "0"} for name in ("/etc/passwd", "run/../../b0001/a.ply", "a\0b", "")],
)
def test_a_model_that_is_none_of_the_block_is_refused(copy: NodeCopy, storage: Storage, model: object) -> None:
    done = {"version": 1, "block": copy.project.block_digest("b0000"), "model": model}
    storage.write("blocks/b0000/done.json", json.dumps(done).encode())
    with pytest.raises(ProjectError, match=r"done\.json names"), copy.models():
        pass


def test_records_too_large_and_pipes_are_not_read(copy: NodeCopy, storage: Storage, tmp_path: Path) -> None:
    done = tmp_path / "bucket/blocks/b0000/done.json"
    with open(done, "wb") as file:
        file.truncate(records.MOST_BYTES + 1)
    with pytest.raises(ProjectError, match="bytes, and a record has"):
        storage.read("blocks/b0000/done.json")
    with pytest.raises(ProjectError, match="bytes, and a record has"):
        records.read_file(done)
    done.unlink()
    os.mkfifo(done)
    with pytest.raises(ProjectError, match="is no file"):
        copy.is_done("b0000")
    with pytest.raises(ProjectError, match="is no file"):
        records.read_file(done)
    with pytest.raises(ProjectError, match="is no file"):
        storage.download("blocks/b0000/done.json", tmp_path / "done.json")
    # A folder as the driver sees it: such a block comes last, and `kiln` says what is wrong.
    index = tmp_path / "bucket/blocks/b0001/block.json"
    index.unlink()
    os.mkfifo(index)
    place = Place(str(tmp_path / "bucket"))
    assert place.in_order(copy.project) == ["b0000", "b0001"]


def test_an_index_of_wrong_types_is_refused(copy: NodeCopy) -> None:
    whole = json.loads(copy.project.text)
    scene = whole["scene"]
    block = whole["blocks"][0]
    for wrong in (
        {"blocks": [block, block]},
        {"blocks": [{**block, "name": 7}]},
        {"blocks": [{**block, "digest": None}]},
        {"blocks": 7},
        {"scene": {**scene, "photos": [{"name": "../a.jpg", "bytes": 1}]}},
        {"scene": {**scene, "photos": [{"name": "a.jpg", "bytes": "1"}]}},
        {"scene": {**scene, "model": [{"name": ["a"]}]}},
        {"scene": []},
    ):
        with pytest.raises(ProjectError):
            Project.read(json.dumps({**whole, **wrong}).encode(), "project.json")


def test_a_marker_of_what_is_gone_begins_anew(copy: NodeCopy, storage: Storage) -> None:
    run = copy.bring_block("b0000") / "run"
    checkpoint(run, 20)
    copy.save_checkpoint("b0000", None)
    at = f"blocks/b0000/{MARKER}"
    marker = json.loads(storage.read(at) or b"")
    for wrong in ({"iteration": "20"}, {"file": "../../block.json"}, {"records": ["/etc/passwd"]}, {"records": 7}):
        storage.write(at, json.dumps({**marker, **wrong, "iteration": wrong.get("iteration", 90)}).encode())
        with pytest.raises(ProjectError):
            copy.bring_checkpoint("b0000")
    # A task that had lost the block deleted it late.
    storage.write(at, json.dumps({**marker, "iteration": 90, "file": "checkpoints/checkpoint_00000090.kiln"}).encode())
    assert copy.bring_checkpoint("b0000") is None and not run.exists()


def test_a_task_that_lost_its_block_replaces_nothing(copy: NodeCopy, storage: Storage) -> None:
    def lost() -> None:
        raise Lost

    folder = copy.bring_block("b0000")
    checkpoint(folder / "run", 20)
    with pytest.raises(Lost):
        copy.save_checkpoint("b0000", None, lost)
    assert storage.read(f"blocks/b0000/{MARKER}") is None
    (folder / "done.json").write_text("{}")
    with pytest.raises(Lost):
        copy.save_run("b0000", lost)
    assert storage.read("blocks/b0000/done.json") is None and storage.read("blocks/b0000/run/metrics.jsonl") == b"20"


def test_a_photo_of_another_size_is_not_trained_on(copy: NodeCopy, storage: Storage) -> None:
    photo = json.loads(storage.read("blocks/b0000/block.json") or b"")["train_views"][0]
    storage.write(f"scene/images/{photo}", b"an old one")
    with pytest.raises(ProjectError, match="has 10 bytes and not"):
        copy.bring_block("b0000")


def test_copies_lie_in_a_folder_of_ones_own(copy: NodeCopy, storage: Storage, tmp_path: Path) -> None:
    assert (tmp_path / "work").stat().st_mode & 0o777 == 0o700
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "work").symlink_to(tmp_path / "work")
    with pytest.raises(ProjectError, match="somebody else's"):
        NodeCopy(storage, copy.project, shared / "work", "1234")


def test_links_out_of_a_project_are_not_pushed(storage: Storage, project: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (project / "notes").symlink_to(tmp_path / "secret")
    with pytest.raises(ProjectError, match="leads out of the project"):
        push(project, storage, print)
