// Tiles a splat touches: those of its 3-sigma rectangle that also meet the ellipse where alpha reaches 1/255. Every
// pixel of a tile left out has alpha below 1/255, so the image is that of the whole rectangle.

const float TILE = 16.0;

struct Footprint {
    vec2 mean;
    vec3 conic;
    float det;       // A C - B^2
    float level;     // 2 ln(255 opacity): the ellipse is A dx^2 + 2 B dx dy + C dy^2 <= level
    vec2 extent;     // largest |dx|, |dy| of the ellipse
    ivec4 rect;      // tiles [x, z) by [y, w)
};

// Upward nudge so that rounding never drops a tile that a pixel would have used: 1e-3 on the exponent, hence twice that
// on the level.
const float LEVEL_SLACK = 2.0e-3;

// Tiles [x, z) by [y, w) within `radius` of the centre.
ivec4 tile_rect(vec2 mean, float radius, uvec2 tiles) {
    precise vec2 low = floor((mean - radius) / TILE);
    precise vec2 high = floor((mean + radius + (TILE - 1.0)) / TILE);
    vec2 limit = vec2(tiles);
    return ivec4(ivec2(clamp(low, vec2(0.0), limit)), ivec2(clamp(high, vec2(0.0), limit)));
}

Footprint footprint(vec2 mean, vec3 conic, float opacity, float radius, uvec2 tiles) {
    Footprint f;
    f.mean = mean;
    f.conic = conic;
    precise float det = conic.x * conic.z - conic.y * conic.y;
    f.det = max(det, 1e-37);
    f.level = max(2.0 * log(255.0 * opacity), 0.0) + LEVEL_SLACK;
    precise vec2 extent = sqrt(f.level * conic.zx / f.det);
    f.extent = extent;
    f.rect = tile_rect(mean, radius, tiles);
    return f;
}

// Tiles [x, y) of tile row `row`; empty when x >= y.
ivec2 row_span(Footprint f, int row) {
    precise float top = float(row) * TILE - f.mean.y;
    precise float bottom = top + (TILE - 1.0);
    float lo = max(top, -f.extent.y);
    float hi = min(bottom, f.extent.y);
    if (lo > hi) {
        return ivec2(0);
    }
    precise float skew = f.conic.y / f.conic.z * f.extent.x;
    float dy_right = clamp(-skew, lo, hi);
    float dy_left = clamp(skew, lo, hi);
    precise float root_right = sqrt(max(0.0, f.level * f.conic.x - f.det * dy_right * dy_right));
    precise float root_left = sqrt(max(0.0, f.level * f.conic.x - f.det * dy_left * dy_left));
    precise float right = f.mean.x + (root_right - f.conic.y * dy_right) / f.conic.x;
    precise float left = f.mean.x - (root_left + f.conic.y * dy_left) / f.conic.x;
    // Pixel centres are integers: tile t covers [16 t, 16 t + 15].
    precise vec2 span = vec2(ceil((left - (TILE - 1.0)) / TILE), floor(right / TILE) + 1.0);
    return ivec2(clamp(span, vec2(f.rect.xx), vec2(f.rect.zz)));
}

// The part of a row's span that lies in the tiles [u.band_begin, u.band_end).
ivec2 clip_to_band(ivec2 span, int row) {
    int first = row * int(u.tiles_x);
    return clamp(span, ivec2(int(u.band_begin) - first), ivec2(int(u.band_end) - first));
}
