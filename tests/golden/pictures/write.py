#!/usr/bin/env python3
"""Writes one picture in the formats and depths that photos come in, as other programs do.

usage: write.py FOLDER        needs: pip install pillow tifffile imagecodecs opencv-python-headless OpenEXR numpy
"""
import sys
from pathlib import Path

import cv2
import numpy as np
import OpenEXR
import tifffile
from PIL import Image

folder = Path(sys.argv[1])
y, x = np.meshgrid(np.arange(12), np.arange(16), indexing="ij")
# the same formula as in the test
rgb = np.stack([15 * x, 20 * y, 128 + 0 * x], axis=2).astype(np.uint8)
alpha = np.where(x < 8, 255, 128).astype(np.uint8)
rgba = np.dstack([rgb, alpha])
wide = rgb.astype(np.uint16) * 257
share = rgb / 255.0
linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4).astype(np.float32)


def path(name):
    return str(folder / name)


Image.fromarray(rgb).save(path("pillow-lossless.webp"), lossless=True)
Image.fromarray(rgb).save(path("pillow-lossy.webp"), quality=95)
Image.fromarray(rgba).save(path("pillow-alpha.webp"), lossless=True, exact=True)
Image.fromarray(rgb).save(path("pillow-lzw.tif"), compression="tiff_lzw")
Image.fromarray(rgb).save(path("pillow-jpeg.tif"), compression="jpeg", quality=98)
cv2.imwrite(path("opencv-16.png"), wide[..., ::-1])
cv2.imwrite(path("opencv-16.tiff"), wide[..., ::-1])
tifffile.imwrite(path("tifffile-float.tif"), linear, photometric="rgb", compression="zlib", predictor=True)
tifffile.imwrite(path("tifffile-tiled.tif"), wide, photometric="rgb", tile=(16, 16), compression="deflate")
tifffile.imwrite(path("tifffile-big-endian.tif"), wide, photometric="rgb", byteorder=">")
share = alpha[..., None] / np.float32(255)
planes = {"RGBA": np.dstack([linear * share, share]).astype(np.float16)}
for name, compression in [("zip", OpenEXR.ZIP_COMPRESSION), ("piz", OpenEXR.PIZ_COMPRESSION)]:
    header = {"compression": compression, "type": OpenEXR.scanlineimage}
    OpenEXR.File(header, planes).write(path(f"openexr-{name}.exr"))
