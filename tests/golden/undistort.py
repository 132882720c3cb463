#!/usr/bin/env python3
"""Records where COLMAP's camera models put rays, and which pinhole camera its undistorter chooses.

usage: undistort.py > undistort.json        needs: pip install pycolmap numpy opencv-python-headless

Each case is a camera with `rays` (u, v) in front of it and their `pixels`, COLMAP's convention (the first pixel's centre
is at 0.5). `opencv` has the same for the two models that transforms.json files hold, computed by OpenCV, whose first
pixel's centre is at 0; the half pixel is added here.
"""
import json

import cv2
import numpy as np
import pycolmap

W, H = 640, 480
F, CX, CY = 500.0, 325.5, 236.0
CASES = [
    ("SIMPLE_PINHOLE", [F, CX, CY]),
    ("PINHOLE", [F, 490.0, CX, CY]),
    ("SIMPLE_RADIAL", [F, CX, CY, -0.12]),
    ("SIMPLE_RADIAL", [F, CX, CY, 0.09]),
    ("RADIAL", [F, CX, CY, 0.08, -0.03]),
    ("OPENCV", [F, 490.0, CX, CY, -0.18, 0.05, 1.2e-3, -2.1e-3]),
    ("OPENCV_FISHEYE", [300.0, 296.0, CX, CY, 0.03, -0.012, 0.004, -0.0007]),
    ("FULL_OPENCV", [F, 490.0, CX, CY, 0.11, 0.02, 1e-3, -6e-4, 0.01, 0.21, 0.05, 0.02]),
    ("FOV", [420.0, 415.0, CX, CY, 0.9]),
    ("SIMPLE_RADIAL_FISHEYE", [280.0, CX, CY, 0.02]),
    ("RADIAL_FISHEYE", [280.0, CX, CY, -0.03, 0.008]),
    ("THIN_PRISM_FISHEYE", [310.0, 305.0, CX, CY, 0.02, -0.01, 1e-3, 2e-3, 0.004, -0.001, 1.5e-3, -1e-3]),
]


def rays(camera):
    """Rays on a grid that the camera sees, rounded so that the file holds them exactly."""
    found = []
    for y in np.linspace(8, H - 8, 9):
        for x in np.linspace(8, W - 8, 11):
            ray = camera.cam_from_img(np.array([x, y]))
            if ray is not None and np.all(np.isfinite(ray)) and np.hypot(*ray) < 3:
                found.append([round(float(value), 6) for value in ray])
    return found


def pixels(camera, points):
    return [[round(float(v), 6) for v in camera.img_from_cam(np.array([u, v, 1.0]))] for u, v in points]


cases = []
for model, params in CASES:
    camera = pycolmap.Camera(model=model, width=W, height=H, params=params)
    points = rays(camera)
    pinhole = pycolmap.undistort_camera(pycolmap.UndistortCameraOptions(), camera)
    cases.append({
        "model": model,
        "size": [W, H],
        "params": params,
        "rays": points,
        "pixels": pixels(camera, points),
        "undistorter": {"size": [pinhole.width, pinhole.height], "params": [float(p) for p in pinhole.params]},
    })

intrinsics = np.array([[F, 0, CX - 0.5], [0, 490.0, CY - 0.5], [0, 0, 1]])
points = np.array([[u, v, 1.0] for v in np.linspace(-0.4, 0.4, 5) for u in np.linspace(-0.5, 0.5, 7)])
zero = np.zeros(3)
opencv = []
for model, keys, coefficients in [
    ("OPENCV", ["k1", "k2", "p1", "p2", "k3"], [-0.18, 0.05, 1.2e-3, -2.1e-3, 0.01]),
    ("OPENCV_FISHEYE", ["k1", "k2", "k3", "k4"], [0.03, -0.012, 0.004, -0.0007]),
]:
    project = cv2.projectPoints if model == "OPENCV" else cv2.fisheye.projectPoints
    out, _ = project(points.reshape(-1, 1, 3), zero, zero, intrinsics, np.array(coefficients))
    opencv.append({
        "model": model,
        "coefficients": dict(zip(keys, coefficients)),
        "rays": points[:, :2].round(12).tolist(),
        "pixels": (out.reshape(-1, 2) + 0.5).round(6).tolist(),
    })
versions = {"pycolmap": pycolmap.__version__, "opencv": cv2.__version__}
camera = {"size": [W, H], "focal": [F, 490.0], "centre": [CX, CY]}
print(json.dumps({"versions": versions, "cases": cases, "opencv": {"camera": camera, "lenses": opencv}}, separators=(",", ":")))
