#!/usr/bin/env python3
"""Records what gsplat makes of one model and one camera, classic and antialiased.

usage: record.py        needs: pip install torch gsplat numpy        writes model.ply, classic.f32, antialiased.f32, golden.json

Covariances, projection, conics, compensations, radii and spherical harmonics are gsplat's own, from its reference
implementation in PyTorch (`gsplat/cuda/_torch_impl.py`). Its rasteriser wants CUDA, so the last step is written out here as
its kernel has it: splats front to back in every tile of 16 pixels that their radius reaches, pixel centres at 0.5, alpha at
least 1/255 and at most 0.999, and a pixel stops before its transmittance falls to 1e-4. Pictures are width x height x RGB,
32-bit floats, row by row.
"""
import json
from pathlib import Path

import gsplat
import numpy as np
import torch
from gsplat.cuda._torch_impl import _fully_fused_projection, _quat_scale_to_covar_preci, _spherical_harmonics

HERE = Path(__file__).parent
WIDTH, HEIGHT = 80, 56
FX, FY, CX, CY = 75.0, 68.0, 42.5, 26.25
BACKGROUND = [0.125, 0.25, 0.5]
COUNT, DEGREE = 240, 3

rng = np.random.default_rng(20261123)
means = rng.uniform([-2.2, -1.6, -1.4], [2.2, 1.6, 1.4], (COUNT, 3))
quats = rng.normal(size=(COUNT, 4)) * 1.5
log_scales = rng.uniform(np.log(0.004), np.log(0.3), (COUNT, 3))
opacities = rng.uniform(0.05, 0.95, COUNT)
logits = np.log(opacities / (1 - opacities))
sh0 = 0.8 * rng.normal(size=(COUNT, 1, 3)) + 0.6
rest = 0.15 * rng.normal(size=(COUNT, (DEGREE + 1) ** 2 - 1, 3))
yaw, pitch = 0.3, 0.2
rotation = np.array([[1, 0, 0], [0, np.cos(pitch), -np.sin(pitch)], [0, np.sin(pitch), np.cos(pitch)]]) @ np.array(
    [[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
rotation = rotation.astype(np.float32)
translation = np.array([0.1, -0.05, 4.0], np.float32)

# As the file holds it, so that both programs begin with the same numbers.
as_read = lambda values: np.asarray(values, np.float32)
means, quats, log_scales, logits, sh0, rest = map(as_read, (means, quats, log_scales, logits, sh0, rest))
names = ["x", "y", "z", "nx", "ny", "nz", *(f"f_dc_{i}" for i in range(3)), *(f"f_rest_{i}" for i in range(rest[0].size)),
         "opacity", *(f"scale_{i}" for i in range(3)), *(f"rot_{i}" for i in range(4))]
# The file has the coefficients of red, then of green, then of blue.
rows = np.concatenate([means, np.zeros_like(means), sh0.reshape(COUNT, 3), rest.transpose(0, 2, 1).reshape(COUNT, -1),
                       logits[:, None], log_scales, quats], 1).astype("<f4")
header = f"ply\nformat binary_little_endian 1.0\nelement vertex {COUNT}\n" + "".join(
    f"property float {name}\n" for name in names) + "end_header\n"
(HERE / "model.ply").write_bytes(header.encode() + rows.tobytes())

t = torch.tensor
view = np.eye(4, dtype=np.float32)
view[:3, :3], view[:3, 3] = rotation, translation
intrinsics = np.array([[FX, 0, CX], [0, FY, CY], [0, 0, 1]], np.float32)
covars, _ = _quat_scale_to_covar_preci(t(quats), torch.exp(t(log_scales)), compute_preci=False)
center = -rotation.T @ translation
colors = _spherical_harmonics(DEGREE, t(means) - t(center), torch.cat([t(sh0), t(rest)], 1))
colors = torch.clamp_min(colors + 0.5, 0.0).double().numpy()


def composite(radii, means2d, depths, conics, alphas):
    """The rasteriser, in f64."""
    image = np.zeros((HEIGHT, WIDTH, 3))
    left = np.ones((HEIGHT, WIDTH))
    done = np.zeros((HEIGHT, WIDTH), bool)
    ys, xs = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    for i in np.argsort(depths, kind="stable"):
        if (radii[i] <= 0).any():
            continue
        low = np.floor((means2d[i] - radii[i]) / 16) * 16
        high = np.ceil((means2d[i] + radii[i]) / 16) * 16
        reached = (xs > low[0]) & (xs < high[0]) & (ys > low[1]) & (ys < high[1])
        dx, dy = means2d[i, 0] - xs, means2d[i, 1] - ys
        a, b, c = conics[i]
        sigma = 0.5 * (a * dx * dx + c * dy * dy) + b * dx * dy
        alpha = np.minimum(0.999, alphas[i] * np.exp(-sigma))
        counts = reached & ~done & (sigma >= 0) & (alpha >= 1 / 255)
        stops = counts & (left * (1 - alpha) <= 1e-4)
        done |= stops
        counts &= ~stops
        image += np.where(counts, alpha * left, 0.0)[..., None] * colors[i]
        left = np.where(counts, left * (1 - alpha), left)
    return image + left[..., None] * BACKGROUND


for name, antialiased in [("classic", False), ("antialiased", True)]:
    radii, means2d, depths, conics, compensations = _fully_fused_projection(
        t(means), covars, t(view)[None], t(intrinsics)[None], WIDTH, HEIGHT, eps2d=0.3, near_plane=0.2,
        calc_compensations=antialiased)
    alphas = torch.sigmoid(t(logits))
    if antialiased:
        alphas = alphas * compensations[0]
    image = composite(*(x.double().numpy() for x in (radii[0], means2d[0], depths[0], conics[0], alphas)))
    (HERE / f"{name}.f32").write_bytes(image.astype("<f4").tobytes())

golden = {
    "gsplat": gsplat.__version__, "torch": torch.__version__, "numpy": np.__version__,
    "size_px": [WIDTH, HEIGHT], "focal_px": [FX, FY], "principal_point_px": [CX, CY],
    "rotation": [[float(v) for v in row] for row in rotation], "translation": [float(v) for v in translation],
    "background": BACKGROUND, "variance_px2": 0.3,
}
(HERE / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")
