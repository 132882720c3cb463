#!/usr/bin/env python3
"""Computes the figures of golden.json and lpips.json again from the PNG pairs and prints how far the recorded ones are off.

usage: check.py [LPIPS_WEIGHTS.safetensors]        needs: pip install torch pytorch_msssim numpy pillow

`lpips_halves` needs the weights that ship with the engine (engine/assets); VGG16 is written out here, as those hold it. The
figures `lpips` and `per_tap` are of the package `lpips` 0.1.4 with `net="vgg", version="0.1"`, whose weights come from torchvision.
"""
import json
import math
import struct
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from pytorch_msssim import ssim

HERE = Path(__file__).parent


def picture(name, dtype=torch.float64):
    values = np.asarray(Image.open(HERE / name).convert("RGB"))
    return torch.from_numpy(values.copy()).to(dtype).permute(2, 0, 1)[None] / 255


def padded_ssim(a, b):
    """SSIM with an 11 x 11 window of sigma 1.5 over zero padding, as trainers of 3DGS print it."""
    line = torch.tensor([math.exp(-((i - 5) ** 2) / (2 * 1.5**2)) for i in range(11)], dtype=a.dtype)
    line = line / line.sum()
    window = (line[:, None] @ line[None]).expand(3, 1, 11, 11).contiguous()
    blur = lambda image: F.conv2d(image, window, padding=5, groups=3)
    ma, mb = blur(a), blur(b)
    va, vb, vab = blur(a * a) - ma * ma, blur(b * b) - mb * mb, blur(a * b) - ma * mb
    c1, c2 = 0.01**2, 0.03**2
    return ((2 * ma * mb + c1) * (2 * vab + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2))).mean().item()


def figures(pair):
    a, b = (picture(f"pair_{pair}_{kind}.png") for kind in ("pred", "gt"))
    mse = ((a.float() - b.float()) ** 2).reshape(3, -1).mean(1)
    return {
        "psnr": (20 * torch.log10(1 / torch.sqrt(mse))).mean().item(),
        "psnr_image": -10 * math.log10(((a - b) ** 2).mean().item()),
        "ssim": padded_ssim(a, b),
        "ssim_valid": ssim(a, b, data_range=1.0, size_average=True).item(),
    }


def tensors(path):
    """The tensors of a safetensors file, as 32-bit floats."""
    data = Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    kinds = {"F16": np.float16, "F32": np.float32}
    out = {}
    for name, about in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__":
            start, end = (8 + length + at for at in about["data_offsets"])
            values = np.frombuffer(data[start:end], kinds[about["dtype"]]).astype(np.float32)
            out[name] = torch.from_numpy(values).reshape(about["shape"])
    return out


def lpips(a, b, weights):
    """LPIPS with VGG16: taps behind the ReLU of convolutions 1, 3, 6, 9, 12; pools before 2, 4, 7, 10."""
    total, tap = 0.0, 0
    shift, scale = (weights[f"scaling.{name}"].reshape(1, 3, 1, 1) for name in ("shift", "scale"))
    pair = [(image.float() - shift) / scale for image in (a, b)]
    for layer in range(13):
        if layer in (2, 4, 7, 10):
            pair = [F.max_pool2d(x, 2) for x in pair]
        kernel, bias = weights[f"conv{layer}.weight"], weights[f"conv{layer}.bias"]
        pair = [F.relu(F.conv2d(x, kernel, bias, padding=1)) for x in pair]
        if layer in (1, 3, 6, 9, 12):
            one, other = (x / (x.pow(2).sum(1, keepdim=True).sqrt() + 1e-10) for x in pair)
            total += ((one - other) ** 2 * weights[f"lin{tap}.weight"]).sum(1).mean().item()
            tap += 1
    return total


def main():
    golden = json.loads((HERE / "golden.json").read_text())
    worst = 0.0
    for pair, recorded in golden["pairs"].items():
        for name, value in figures(pair).items():
            off = abs(value - recorded[name])
            worst = max(worst, off)
            print(f"{pair} {name:<12} {value:.9f}  recorded {recorded[name]:.9f}  off {off:.1e}")
    if len(sys.argv) > 1:
        weights = tensors(sys.argv[1])
        recorded = json.loads((HERE / "lpips.json").read_text())
        for pair in recorded["pairs"]:
            a, b = (picture(f"pair_{pair}_{kind}.png", torch.float32) for kind in ("pred", "gt"))
            for name, turn in [("zero_one", lambda x: x), ("minus_one_one", lambda x: 2 * x - 1)]:
                value = lpips(turn(a), turn(b), weights)
                found = recorded["pairs"][pair][name]["lpips_halves"]
                worst = max(worst, abs(value - found))
                print(f"{pair} lpips_halves {name:<14} {value:.9f}  recorded {found:.9f}  off {abs(value - found):.1e}")
    print(f"largest difference {worst:.1e}")
    sys.exit(worst > 1e-4)


main()
