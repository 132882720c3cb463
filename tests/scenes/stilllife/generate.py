#!/usr/bin/env python3
"""Procedural ray-traced 'still life on a table' scene -> COLMAP dataset (PINHOLE). Own work, CC0.
Analytic primitives (plane, spheres, boxes, capped cylinders, cones), procedural textures, sun with soft shadow,
sky dome, analytic sphere-AO, small specular lobe.   usage: generate.py OUT [W H VIEWS SPP_SIDE NPTS]"""

import os
import struct
import sys

import numpy as np
from PIL import Image

OUT = sys.argv[1]
W, H, NV, SS, NP = [int(x) for x in (sys.argv[2:] + ["256", "192", "40", "4", "4500"][len(sys.argv) - 2 :])]
rng = np.random.default_rng(7)
# ---- value noise
T = rng.random((64, 64, 64)).astype(np.float32)


def noise(p):
    i = np.floor(p).astype(np.int64)
    f = (p - i).astype(np.float32)
    f = f * f * (3 - 2 * f)
    i &= 63
    j = (i + 1) & 63
    x0, y0, z0 = i[..., 0], i[..., 1], i[..., 2]
    x1, y1, z1 = j[..., 0], j[..., 1], j[..., 2]
    fx, fy, fz = f[..., 0], f[..., 1], f[..., 2]
    a = T[x0, y0, z0] * (1 - fx) + T[x1, y0, z0] * fx
    b = T[x0, y1, z0] * (1 - fx) + T[x1, y1, z0] * fx
    c = T[x0, y0, z1] * (1 - fx) + T[x1, y0, z1] * fx
    d = T[x0, y1, z1] * (1 - fx) + T[x1, y1, z1] * fx
    return (a * (1 - fy) + b * fy) * (1 - fz) + (c * (1 - fy) + d * fy) * fz


def fbm(p, o=4):
    s = 0
    w = 0.5
    for k in range(o):
        s = s + w * noise(p * (2**k) + 17.3 * k)
        w *= 0.5
    return s / (1 - 0.5**o)


mix = lambda a, b, t: a * (1 - t[..., None]) + b * t[..., None]
C = lambda *c: np.array(c, np.float32)
sm = lambda a, b, x: np.clip((x - a) / (b - a), 0, 1) ** 2 * (3 - 2 * np.clip((x - a) / (b - a), 0, 1))


def wood(p):
    q = p * np.array([0.9, 7.0, 7.0])
    pl = np.floor(p[..., 1] / 0.35)
    n = fbm(q + np.stack([pl * 3.1, pl * 1.7, pl * 0], -1), 5)
    g = 0.5 + 0.5 * np.sin(14 * n + 3 * fbm(p * 3.0, 3) * 2)
    col = mix(C(0.42, 0.25, 0.12), C(0.74, 0.52, 0.30), g)
    seam = sm(0.0, 0.012, np.abs(p[..., 1] / 0.35 - np.round(p[..., 1] / 0.35)) * 0.35)
    tone = 0.82 + 0.3 * ((np.sin(pl * 12.9898) * 43758.5453) % 1)
    return col * (0.25 + 0.75 * seam)[..., None] * tone[..., None]


def brick(p):
    u = p[..., 0] + p[..., 1]
    v = p[..., 2]
    r = np.floor(v / 0.14)
    uu = u / 0.30 + 0.5 * (r % 2)
    m = np.minimum(np.abs(uu - np.round(uu)) * 0.30, np.abs(v / 0.14 - np.round(v / 0.14)) * 0.14)
    hsh = (np.sin(np.floor(uu) * 12.99 + r * 78.2) * 43758.5) % 1
    col = mix(C(0.50, 0.17, 0.10), C(0.72, 0.34, 0.22), (0.5 * hsh + 0.5 * fbm(p * 14.0, 4)))
    return mix(
        C(0.66, 0.63, 0.58) * np.ones(p.shape, np.float32) * (0.8 + 0.3 * fbm(p * 30.0, 3))[..., None],
        col,
        sm(0.006, 0.014, m),
    )


def marble(p):
    t = 0.5 + 0.5 * np.sin(9 * p[..., 0] + 5 * p[..., 1] + 11 * fbm(p * 4.0, 5))
    return mix(C(0.14, 0.24, 0.22), C(0.86, 0.90, 0.86), t**0.6)


def stripes(p):
    t = np.floor(p[..., 2] / 0.11) % 3
    n = (0.85 + 0.3 * fbm(p * 22.0, 3))[..., None]
    return (
        np.where(
            (t == 0)[..., None],
            C(0.88, 0.78, 0.22),
            np.where((t == 1)[..., None], C(0.12, 0.30, 0.62), C(0.90, 0.88, 0.84)),
        )
        * n
    )


def spots(p):
    q = p * 5.2
    i = np.floor(q)
    f = q - i - 0.5
    h = (np.sin(i @ np.array([12.9, 78.2, 37.7])) * 43758.5) % 1
    return mix(
        mix(C(0.75, 0.12, 0.13), C(0.9, 0.35, 0.2), fbm(p * 6.0, 4)),
        C(0.95, 0.93, 0.85) * np.ones(p.shape, np.float32),
        1 - sm(0.24, 0.30 + 0 * h, np.linalg.norm(f, axis=-1) - 0.1 * h),
    )


def checker(p):
    c = (np.floor(p[..., 0] / 0.16) + np.floor(p[..., 1] / 0.16) + np.floor(p[..., 2] / 0.16)) % 2
    return mix(C(0.10, 0.10, 0.12), C(0.80, 0.82, 0.80), c) * (0.75 + 0.4 * fbm(p * 18.0, 4))[..., None]


def leaf(p):
    return (
        mix(C(0.05, 0.16, 0.05), C(0.38, 0.58, 0.16), sm(0.3, 0.7, fbm(p * 12.0, 5)))
        * (0.7 + 0.5 * noise(p * 40.0))[..., None]
    )


def cloth(p):
    a = 0.5 + 0.5 * np.sin(p[..., 0] * 90)
    b = 0.5 + 0.5 * np.sin(p[..., 1] * 90 + np.pi * np.floor(p[..., 0] * 90 / (2 * np.pi)))
    g = (np.abs((p[..., 0] + 9) % 0.36 - 0.18) < 0.03) | (np.abs((p[..., 1] + 9) % 0.36 - 0.18) < 0.03)
    return (
        np.where(g[..., None], C(0.80, 0.22, 0.20), C(0.82, 0.80, 0.72))
        * (0.7 + 0.2 * a + 0.2 * b * fbm(p * 9, 3))[..., None]
    )


def metalp(p):
    return mix(C(0.50, 0.36, 0.16), C(0.84, 0.68, 0.36), fbm(p * np.array([3.0, 3.0, 40.0]), 4))


def sky(d):
    az = np.arctan2(d[..., 1], d[..., 0])
    el = d[..., 2]
    q = np.stack([np.cos(az) * 3, np.sin(az) * 3, 0 * az], -1)
    hill = 0.02 + 0.16 * fbm(q * 1.3 + 5, 4) + 0.05 * fbm(q * 6, 3)
    g = mix(C(0.80, 0.84, 0.88), C(0.30, 0.50, 0.80), sm(0, 0.6, el))
    cl = sm(0.52, 0.75, fbm(d * np.array([3.0, 3.0, 7.0]) + 3, 5))
    g = mix(g, C(0.96, 0.96, 0.95) * np.ones(d.shape, np.float32), 0.8 * cl * sm(0.02, 0.2, el))
    hc = mix(C(0.12, 0.24, 0.12), C(0.42, 0.50, 0.24), fbm(d * 22.0, 5)) * (0.6 + 0.6 * sm(-0.1, 0.2, el))[..., None]
    w = ((np.floor(az * 9) * 7.13) % 1 < 0.35) & (el < hill + 0.06)
    hc = np.where(
        w[..., None],
        mix(C(0.5, 0.45, 0.4), C(0.78, 0.74, 0.66), noise(np.stack([az * 60, el * 60, 0 * az], -1))) * 0.9,
        hc,
    )
    hill = np.where(w, hill + 0.06, hill)
    gr = mix(C(0.30, 0.28, 0.22), C(0.46, 0.42, 0.32), fbm(d * 16.0, 4))
    return np.where((el < -0.02)[..., None], gr, np.where((el < hill)[..., None], hc, g))


# ---- primitives: (kind, params, tex, spec)
P = []
add = lambda kind, prm, tex, spec=0.05: P.append((kind, np.array(prm, float), tex, spec))
add("box", [0, 0, -0.06, 1.7, 1.25, 0.06, 0.0], wood, 0.15)  # table top (z=0 surface)
add("box", [-0.25, 0.12, 0.004, 0.78, 0.55, 0.004, 0.35], cloth, 0.0)  # cloth
add("box", [-0.55, 0.30, 0.24, 0.20, 0.16, 0.235, 0.5], brick, 0.0)  # brick block
add("sphere", [0.18, 0.02, 0.27, 0.26], marble, 0.5)
add("sphere", [-0.18, -0.42, 0.15, 0.145], spots, 0.25)
add("cyl", [0.68, 0.40, 0.0, 0.15, 0.55], stripes, 0.2)
add("cyl", [0.80, -0.45, 0.0, 0.21, 0.10], metalp, 0.6)
add("box", [0.80, -0.45, 0.18, 0.12, 0.12, 0.08, 0.9], checker, 0.1)
add("cyl", [-0.95, -0.35, 0.0, 0.17, 0.26], brick, 0.0)  # flower pot
for k in range(16):  # foliage balls
    a = k * 2.4
    r = 0.05 + 0.14 * ((k * 0.618) % 1)
    add(
        "sphere",
        [-0.95 + r * np.cos(a), -0.35 + r * np.sin(a), 0.36 + 0.22 * ((k * 0.38) % 1), 0.06 + 0.03 * ((k * 0.77) % 1)],
        leaf,
        0.05,
    )
add("cone", [0.33, 0.72, 0.0, 0.20, 0.50], spots, 0.1)
add("sphere", [-0.55, 0.30, 0.56, 0.085], metalp, 0.7)
add("box", [0.25, -0.72, 0.035, 0.30, 0.10, 0.035, -0.35], checker, 0.1)
add("box", [0.22, -0.70, 0.10, 0.24, 0.085, 0.03, -0.15], stripes, 0.1)
add("sphere", [-0.05, 0.60, 0.085, 0.085], leaf, 0.2)
SUN = np.array([0.48, -0.42, 0.77])
SUN /= np.linalg.norm(SUN)


def isect(o, d, prim):
    k, p, _, _ = prim
    inf = np.float64(1e9)
    t = np.full(o.shape[0], inf)
    n = np.zeros_like(o)
    if k == "sphere":
        oc = o - p[:3]
        b = (oc * d).sum(1)
        c = (oc * oc).sum(1) - p[3] ** 2
        q = b * b - c
        h = q > 0
        s = np.sqrt(np.where(h, q, 0))
        tt = -b - s
        ok = h & (tt > 1e-4)
        t[ok] = tt[ok]
        n[ok] = (oc[ok] + d[ok] * tt[ok, None]) / p[3]
    elif k == "box":
        cs, sn = np.cos(p[6]), np.sin(p[6])
        R = np.array([[cs, sn, 0], [-sn, cs, 0], [0, 0, 1]])
        oo = (o - p[:3]) @ R.T
        dd = d @ R.T
        dd = np.where(np.abs(dd) < 1e-12, 1e-12, dd)
        t1 = (-p[3:6] - oo) / dd
        t2 = (p[3:6] - oo) / dd
        tn = np.minimum(t1, t2)
        tf = np.minimum.reduce(np.maximum(t1, t2), 1)
        ta = tn.max(1)
        ok = (ta < tf) & (ta > 1e-4)
        t[ok] = ta[ok]
        ax = tn.argmax(1)
        nn = np.zeros_like(o)
        nn[np.arange(len(ax)), ax] = -np.sign(dd[np.arange(len(ax)), ax])
        n[ok] = (nn @ R)[ok]
    elif k == "cyl":
        r, h = p[3], p[4]
        oc = o - p[:3]
        a = d[:, 0] ** 2 + d[:, 1] ** 2
        b = oc[:, 0] * d[:, 0] + oc[:, 1] * d[:, 1]
        c = oc[:, 0] ** 2 + oc[:, 1] ** 2 - r * r
        q = b * b - a * c
        hq = (q > 0) & (a > 1e-12)
        tt = (-b - np.sqrt(np.where(hq, q, 0))) / np.maximum(a, 1e-12)
        z = oc[:, 2] + tt * d[:, 2]
        ok = hq & (tt > 1e-4) & (z >= 0) & (z <= h)
        t[ok] = tt[ok]
        hp = oc + d * tt[:, None]
        n[ok] = np.stack([hp[ok, 0] / r, hp[ok, 1] / r, 0 * hp[ok, 0]], 1)
        tc = (h - oc[:, 2]) / np.where(np.abs(d[:, 2]) < 1e-12, 1e-12, d[:, 2])
        x = oc[:, 0] + tc * d[:, 0]
        y = oc[:, 1] + tc * d[:, 1]
        ok2 = (tc > 1e-4) & (x * x + y * y < r * r) & (tc < t)
        t[ok2] = tc[ok2]
        n[ok2] = [0, 0, 1]
    else:  # cone, apex up
        r, h = p[3], p[4]
        k2 = (r / h) ** 2
        oc = o - (p[:3] + [0, 0, h])
        a = d[:, 0] ** 2 + d[:, 1] ** 2 - k2 * d[:, 2] ** 2
        b = oc[:, 0] * d[:, 0] + oc[:, 1] * d[:, 1] - k2 * oc[:, 2] * d[:, 2]
        c = oc[:, 0] ** 2 + oc[:, 1] ** 2 - k2 * oc[:, 2] ** 2
        q = b * b - a * c
        hq = (q > 0) & (np.abs(a) > 1e-12)
        for sg in (-1, 1):
            tt = (-b + sg * np.sqrt(np.where(hq, q, 0))) / np.where(np.abs(a) < 1e-12, 1e-12, a)
            z = oc[:, 2] + tt * d[:, 2]
            ok = hq & (tt > 1e-4) & (z <= 0) & (z >= -h) & (tt < t)
            t[ok] = tt[ok]
            hp = oc[ok] + d[ok] * tt[ok, None]
            nn = np.stack([hp[:, 0], hp[:, 1], -k2 * hp[:, 2]], 1)
            n[ok] = nn / np.linalg.norm(nn, axis=1, keepdims=True)
    return t, n


BS = []  # bounding spheres for culling
for k, p, _, _ in P:
    if k == "sphere":
        BS.append((p[:3], p[3]))
    elif k == "box":
        BS.append((p[:3], np.linalg.norm(p[3:6])))
    else:
        BS.append((p[:3] + [0, 0, p[4] / 2], np.hypot(p[3], p[4] / 2)))


def cull(o, d, b):
    oc = b[0] - o
    t = (oc * d).sum(1)
    return ((oc * oc).sum(1) - t * t) < (b[1] * 1.001) ** 2


def trace(o, d):
    t = np.full(len(o), 1e9)
    n = np.zeros_like(o)
    idx = np.full(len(o), -1)
    for i, pr in enumerate(P):
        s = np.nonzero(cull(o, d, BS[i]))[0]
        if not len(s):
            continue
        tt, nn = isect(o[s], d[s], pr)
        m = tt < t[s]
        s = s[m]
        t[s] = tt[m]
        n[s] = nn[m]
        idx[s] = i
    return t, n, idx


def shadow(o, d):
    v = np.ones(len(o), bool)
    for i, pr in enumerate(P):
        s = np.nonzero(v & cull(o, d, BS[i]))[0]
        if len(s):
            v[s[isect(o[s], d[s], pr)[0] < 1e8]] = False
    return v


def shade(o, d, jit):
    t, n, idx = trace(o, d)
    col = sky(d).astype(np.float32)
    hit = np.nonzero(idx >= 0)[0]
    if len(hit):
        x = o[hit] + d[hit] * t[hit, None]
        N = n[hit]
        alb = np.zeros((len(hit), 3), np.float32)
        sp = np.zeros(len(hit))
        for i, (k, p, tex, s) in enumerate(P):
            m = idx[hit] == i
            if m.any():
                q = x[m] - p[:3]
                if k == "box":
                    cs, sn = np.cos(p[6]), np.sin(p[6])
                    q = q @ np.array([[cs, sn, 0], [-sn, cs, 0], [0, 0, 1]]).T
                alb[m] = tex(q + 1.7e-3)
                sp[m] = s
        L = SUN + 0.035 * jit[hit]
        L /= np.linalg.norm(L, axis=1, keepdims=True)
        ndl = np.maximum(0, (N * L).sum(1))
        vis = np.zeros(len(hit))
        m = ndl > 0
        vis[m] = shadow(x[m] + N[m] * 1e-3, L[m])
        ao = np.ones(len(hit))
        for i, (c, r) in enumerate(BS):
            if P[i][0] == "box" and i < 2:
                continue
            r2 = r * 0.75 if P[i][0] != "sphere" else r
            v = c - x
            dist = np.linalg.norm(v, axis=1)
            o2 = np.clip((N * v).sum(1) / np.maximum(dist, 1e-6), 0, 1) * (r2 / np.maximum(dist, r2 * 1.02)) ** 2
            ao *= 1 - 0.75 * np.where(idx[hit] == i, 0, o2)
        amb = (0.36 + 0.22 * N[:, 2:3]) * ao[:, None] * C(0.86, 0.95, 1.08)
        V = -d[hit]
        Hh = L + V
        Hh /= np.linalg.norm(Hh, axis=1, keepdims=True)
        spec = sp * np.maximum(0, (N * Hh).sum(1)) ** 40 * vis
        col[hit] = alb * (amb + (0.95 * ndl * vis)[:, None] * C(1.06, 1.0, 0.90)) + spec[:, None]
    return col, t, idx


# ---- cameras (COLMAP: x right, y down, z forward)
f = 0.5 * W / np.tan(np.radians(58) / 2)
K = (f, f, W / 2, H / 2)
cams = []
for i in range(NV):
    ring = i % 3
    a = 2 * np.pi * (i / NV) * 2 + rng.normal(0, 0.05) + ring * 0.35
    el = np.radians([16, 32, 52][ring] + rng.normal(0, 2.0))
    R0 = [2.45, 2.25, 2.05][ring] * (1 + rng.normal(0, 0.04))
    c = np.array([R0 * np.cos(a) * np.cos(el), R0 * np.sin(a) * np.cos(el), 0.12 + R0 * np.sin(el)])
    tgt = np.array([0, 0, 0.16]) + rng.normal(0, 0.05, 3)
    z = tgt - c
    z /= np.linalg.norm(z)
    up = np.array([rng.normal(0, 0.03), rng.normal(0, 0.03), 1])
    xx = np.cross(z, up)
    xx /= np.linalg.norm(xx)
    yy = np.cross(z, xx)
    cams.append((np.stack([xx, yy, z]), c))
os.makedirs(OUT + "/images", exist_ok=True)
os.makedirs(OUT + "/sparse/0", exist_ok=True)
depth = []
rgb = []
js = (np.arange(SS) + 0.5) / SS
for vi, (R, c) in enumerate(cams):
    acc = np.zeros((H * W, 3), np.float32)
    for a in js:
        for b in js:
            u, v = np.meshgrid(np.arange(W) + a, np.arange(H) + b)
            d = np.stack([(u - K[2]) / K[0], (v - K[3]) / K[1], np.ones_like(u)], -1).reshape(-1, 3) @ R
            d /= np.linalg.norm(d, axis=1, keepdims=True)
            col, _, _ = shade(np.broadcast_to(c, d.shape).copy(), d, rng.normal(0, 1, d.shape))
            acc += np.minimum(col, 1.6)
    img = acc / (SS * SS)
    img = np.clip(img, 0, None)
    img = img * (1 + img / 2.2) / (1 + img * 0.62)
    img = np.clip(img, 0, 1) ** (1 / 2.2) + rng.normal(0, 0.006, img.shape)
    im8 = (np.clip(img, 0, 1) * 255 + 0.5).astype(np.uint8).reshape(H, W, 3)
    rgb.append(im8)
    Image.fromarray(im8).save(f"{OUT}/images/view_{vi:03d}.jpg", quality=92, subsampling=0)
    print(vi, flush=True)
# ---- sparse points: random pixels of random views, kept if seen (unoccluded) in >=3 views
pts = []
tr = []
cols = []
obs = [[] for _ in cams]
tries = 0
while len(pts) < NP and tries < 40:
    tries += 1
    vi = rng.integers(len(cams))
    R, c = cams[vi]
    u = rng.uniform(2, W - 2, 300)
    v = rng.uniform(2, H - 2, 300)
    d = np.stack([(u - K[2]) / K[0], (v - K[3]) / K[1], np.ones_like(u)], -1) @ R
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    t, n, idx = trace(np.broadcast_to(c, d.shape).copy(), d)
    ok = idx >= 0
    X = c + d[ok] * t[ok, None]
    N = n[ok]
    vis = []
    for R2, c2 in cams:
        q = (X - c2) @ R2.T
        uu = q[:, 0] / q[:, 2] * K[0] + K[2]
        vv = q[:, 1] / q[:, 2] * K[1] + K[3]
        dd = X - c2
        L = np.linalg.norm(dd, axis=1)
        dd /= L[:, None]
        tt, _, _ = trace(np.broadcast_to(c2, dd.shape).copy(), dd)
        vis.append(
            (q[:, 2] > 0)
            & (uu > 1)
            & (uu < W - 1)
            & (vv > 1)
            & (vv < H - 1)
            & (np.abs(tt - L) < 2e-3)
            & ((-(dd * N).sum(1)) > 0.15)
        )
    vis = np.array(vis)
    for k in range(X.shape[0]):
        s = np.nonzero(vis[:, k])[0]
        if len(s) < 3:
            continue
        s = s[rng.random(len(s)) < 0.6] if len(s) > 4 else s
        if len(s) < 3:
            continue
        x = X[k] + rng.normal(0, 0.0015, 3)
        e = []
        T_ = []
        for m in s:
            R2, c2 = cams[m]
            q = R2 @ (X[k] - c2)
            uv = np.array([q[0] / q[2] * K[0] + K[2], q[1] / q[2] * K[1] + K[3]]) + rng.normal(0, 0.35, 2)
            q2 = R2 @ (x - c2)
            uv2 = np.array([q2[0] / q2[2] * K[0] + K[2], q2[1] / q2[2] * K[1] + K[3]])
            e.append(np.linalg.norm(uv - uv2))
            T_.append((m, len(obs[m])))
            obs[m].append((uv[0], uv[1], len(pts) + 1))
        m = s[0]
        q = cams[m][0] @ (X[k] - cams[m][1])
        cols.append(
            rgb[m][int(np.clip(q[1] / q[2] * K[1] + K[3], 0, H - 1)), int(np.clip(q[0] / q[2] * K[0] + K[2], 0, W - 1))]
        )
        pts.append((x, np.mean(e)))
        tr.append(T_)
        if len(pts) >= NP:
            break


def qvec(R):
    K4 = (
        np.array(
            [
                [R[0, 0] - R[1, 1] - R[2, 2], 0, 0, 0],
                [R[0, 1] + R[1, 0], R[1, 1] - R[0, 0] - R[2, 2], 0, 0],
                [R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[2, 2] - R[0, 0] - R[1, 1], 0],
                [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], R.trace()],
            ]
        )
        / 3
    )
    w, V = np.linalg.eigh(K4)
    q = V[[3, 0, 1, 2], w.argmax()]
    return q if q[0] >= 0 else -q


D = OUT + "/sparse/0/"
open(D + "cameras.bin", "wb").write(struct.pack("<Q", 1) + struct.pack("<iiQQ4d", 1, 1, W, H, *K))
b = [struct.pack("<Q", len(cams))]
for i, (R, c) in enumerate(cams):
    b.append(
        struct.pack("<i7di", i + 1, *qvec(R), *(-R @ c), 1)
        + f"view_{i:03d}.jpg".encode()
        + b"\0"
        + struct.pack("<Q", len(obs[i]))
        + b"".join(struct.pack("<ddq", *o) for o in obs[i])
    )
open(D + "images.bin", "wb").write(b"".join(b))
b = [struct.pack("<Q", len(pts))]
for i, ((x, e), c, t) in enumerate(zip(pts, cols, tr)):
    b.append(
        struct.pack("<Q3d3BdQ", i + 1, *x, *[int(v) for v in c], e, len(t))
        + b"".join(struct.pack("<ii", m + 1, o) for m, o in t)
    )
open(D + "points3D.bin", "wb").write(b"".join(b))
print("points", len(pts), "mean err", np.mean([e for _, e in pts]))
