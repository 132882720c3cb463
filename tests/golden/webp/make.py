"""Writes lossless WebP images with libwebp, through Pillow: what its encoder makes of slopes, palettes, noise and repeats.

Made with Pillow 13.0.0: python3 make.py
"""
import os
import random

from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
random.seed(3)


def noise(n=256):
    return random.randrange(n)


def keep(name, width, pixels, method=6):
    image = Image.new("RGBA", (width, len(pixels) // width))
    image.putdata(pixels)
    image.save(os.path.join(HERE, name + ".webp"), lossless=True, exact=True, quality=100, method=method)


def of_palette(n, width, height):
    colours = [(noise(), noise(), noise(), 200 + noise(56)) for _ in range(n)]
    return [colours[noise(n)] for _ in range(width * height)]


keep("slope", 90, [(x * 2, y * 3, (x + y) & 255, 255) for y in range(60) for x in range(90)])
for name, n in [("two", 2), ("four", 4), ("sixteen", 13), ("many", 100)]:
    keep(name, 37, of_palette(n, 37, 29))
keep("noise", 40, [(noise(), noise(), noise(), 255) for _ in range(40 * 30)])
tile = [(noise(), noise(), noise(), noise()) for _ in range(97)]
keep("repeats", 64, [tile[i * i % 97] if i % 640 < 320 else tile[i % 97] for i in range(64 * 60)])
# Noise that comes again a little to the left or to the right of where it was, one row above or several.
near = [(noise(), noise(), noise(), noise()) for _ in range(50 * 8)]
for back in [51, 49, 103, 97, 52, 48, 202, 145, 355]:
    near += [near[len(near) - back + i % back] for i in range(500)]
    near += [(noise(), noise(), noise(), noise()) for _ in range(100)]
keep("near", 50, near[: 50 * 100])
keep(
    "parts",
    160,
    [
        (noise(), noise(8), 3, 255) if x < 80 and y < 50 else (y, noise(30), 255 - noise(4), 252 + noise(4)) if x < 80
        else (int(60 + x + noise(3)), int(y * 2 + noise(3)), int(x + y * 2 + noise(5)) & 255, 255)
        for y in range(100)
        for x in range(160)
    ],
)
keep("alpha", 50, [(noise(), noise(), noise(), i % 256) for i in range(50 * 50)])
keep("lone", 1, [(1, 2, 3, 0)])
