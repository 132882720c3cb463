// Morton codes of centres, 10 bits an axis (Morton 1966). `gaussians/morton.rs` has the same in the same order of operations.
//
// Space is contracted so that every place has a code: with q the offset from the scene's centre in units of its extent, an
// axis is cut by q / (1 + |q|), which is fine where the cameras are and coarse far away.

const uint LAST_CELL = 1023u;

uint cell(float offset, float inverse_extent) {
    precise float q = offset * inverse_extent;
    // Not a number, or beyond all numbers: a place behind all others.
    if ((floatBitsToUint(q) & 0x7f800000u) == 0x7f800000u) {
        return LAST_CELL;
    }
    precise float part = q / (1.0 + abs(q));
    precise float cells = part * 512.0 + 512.0;
    return uint(clamp(cells, 0.0, float(LAST_CELL)));
}

// Ten bits, two zeros between each and the next.
uint spread(uint x) {
    x = (x | (x << 16)) & 0x030000ffu;
    x = (x | (x << 8)) & 0x0300f00fu;
    x = (x | (x << 4)) & 0x030c30c3u;
    return (x | (x << 2)) & 0x09249249u;
}

uint morton_code(vec3 offset, float inverse_extent) {
    return spread(cell(offset.x, inverse_extent)) | (spread(cell(offset.y, inverse_extent)) << 1) |
           (spread(cell(offset.z, inverse_extent)) << 2);
}
