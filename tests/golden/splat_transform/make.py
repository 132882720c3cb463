#!/usr/bin/env python3
"""Writes `source.ply` and has splat-transform make the other files of it.

Run once with splat-transform 2.7.1 (MIT), Node.js 20 and Python 3.11 on Linux, in this folder:
  python3 make.py node .../splat-transform/bin/cli.mjs
"""
import math
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

COUNT = 120
# The first of them are the model of the streamed folder, in four copies; the others are its environment.
N_NEAR = 100
# Copies are moved in the axes of splat-transform, whose x is that of PLY files with the other sign.
APART = 10
# So many Gaussians have coefficients of their own: fewer than the palette has entries, so that it loses little.
N_HARMONICS = 12


def source():
    random.seed(25)
    names = ["x", "y", "z", "nx", "ny", "nz"]
    names += [f"f_dc_{i}" for i in range(3)] + [f"f_rest_{i}" for i in range(45)]
    names += ["opacity"] + [f"scale_{i}" for i in range(3)] + [f"rot_{i}" for i in range(4)]
    harmonics = [[random.uniform(-0.9, 0.9) for _ in range(45)] for _ in range(N_HARMONICS)]
    rows = b""
    for number in range(COUNT):
        far = 0 if number < N_NEAR else 8
        between = random.uniform
        quat = [random.gauss(0, 1) for _ in range(4)]
        length = math.sqrt(sum(v * v for v in quat))
        row = [between(-3, 3), between(-3, 3), far + between(-3, 3), 0, 0, 0]
        row += [between(-1.6, 1.6) for _ in range(3)] + harmonics[number % N_HARMONICS]
        row += [between(-5, 5)] + [between(-6, -2) for _ in range(3)] + [v / length for v in quat]
        rows += struct.pack("<62f", *row)
    header = f"ply\nformat binary_little_endian 1.0\nelement vertex {COUNT}\n"
    header += "".join(f"property float {name}\n" for name in names) + "end_header\n"
    Path("source.ply").write_bytes(header.encode() + rows)


def convert(*arguments):
    subprocess.run([*sys.argv[1:], "-q", "-w", "-g", "cpu", *arguments], check=True)


def copies(level):
    for copy in range(4):
        yield from ["source.ply", "-V", "z,lt,4", "-H", "1", "-t", f"{APART * copy},0,0"]
        if level == 1:
            yield from ["-F", "50%"]
        yield from ["-l", str(level)]


source()
convert("source.ply", "model.sog")
convert("source.ply", "model.spz")
convert("--spz-version", "3", "source.ply", "-H", "2", "model-3.spz")
convert("source.ply", "model.compressed.ply")
for folder in ["folder", "streamed"]:
    shutil.rmtree(folder, ignore_errors=True)
    Path(folder).mkdir()
convert("source.ply", "-H", "1", "folder/meta.json")
environment = ["source.ply", "-V", "z,gte,4", "-H", "0", "-l", "-1"]
convert("-X", "8", *copies(0), *copies(1), *environment, "streamed/lod-meta.json")
