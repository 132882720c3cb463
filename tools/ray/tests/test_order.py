"""The order in which blocks are begun."""

from __future__ import annotations

import json
from pathlib import Path

from kiln_ray.drive import Place


def _project(root: Path, views: dict[str, int | None]) -> Place:
    blocks = [{"name": name, "digest": ""} for name in views]
    scene = {"images": "images", "sparse": "sparse", "model": [], "photos": []}
    (root / "project.json").write_text(json.dumps({"version": 1, "blocks": blocks, "scene": scene}))
    for name, count in views.items():
        (root / "blocks" / name).mkdir(parents=True)
        if count is not None:
            text = json.dumps({"version": 1, "train_views": [f"{n}.jpg" for n in range(count)]})
            (root / "blocks" / name / "block.json").write_text(text)
    return Place(str(root))


def test_blocks_of_many_views_begin_first(tmp_path: Path) -> None:
    place = _project(tmp_path, {"b0000": 3, "b0001": 9, "b0002": 3, "b0003": 12})
    assert place.in_order(place.project()) == ["b0003", "b0001", "b0000", "b0002"]


def test_a_block_that_says_nothing_comes_last(tmp_path: Path) -> None:
    place = _project(tmp_path, {"b0000": None, "b0001": 1})
    (tmp_path / "blocks/b0000/block.json").write_text("[]")
    assert place.in_order(place.project()) == ["b0001", "b0000"]
