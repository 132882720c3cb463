#!/usr/bin/env python3
"""Records rows of images resized by Pillow (default filter: bicubic) for the resize test.

usage: pillow_bicubic.py > pillow_bicubic.json        needs: pip install pillow numpy
"""
import json

import numpy as np
import PIL
from PIL import Image


def picture(width, height):
    """A pattern with edges, gradients and wrap-around, the same formula as in the test."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(3), indexing="ij")
    value = x * 37 + y * 91 + c * 53 + (x * y) % 17 * 9 + (x // 5 + y // 3) % 2 * 120
    return Image.fromarray((value % 256).astype(np.uint8))


cases = []
for size, to in [
    ((64, 48), (16, 12)),  # whole factor
    ((64, 48), (32, 24)),
    ((37, 23), (13, 9)),  # odd factor
    ((20, 15), (33, 21)),  # enlarged
    ((50, 40), (25, 40)),  # one pass only
    ((50, 40), (50, 11)),
    ((101, 7), (3, 2)),  # taps clipped on both sides
]:
    out = np.asarray(picture(*size).resize(to))
    rows = sorted({0, to[1] // 2, to[1] - 1})
    cases.append({"from": size, "to": to, "rows": [[y, out[y].ravel().tolist()] for y in rows]})
print(json.dumps({"pillow": PIL.__version__, "cases": cases}, separators=(",", ":")))
