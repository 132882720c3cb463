// Blocks of 8 by 4 pixels, two to a row, BLOCK_ROWS rows (a tile has four): 32 lanes have one block, and skip the splats that
// miss it.

const uvec2 BLOCK = uvec2(8u, 4u);

// Place of a lane's pixel from the corner of the first block on; lanes in the order of subgroups.
uvec2 block_pixel(uint lane) {
    return uvec2((lane >> 5 & 1u) * BLOCK.x + (lane & 7u), (lane >> 6) * BLOCK.y + (lane >> 3 & 3u));
}

// Blocks from `origin` on that a splat reaches with an alpha of 1/255, one bit each. Rounding errors only
// add blocks, as in `common/tiles.glsl`.
uint reached_blocks(vec2 mean, float opacity, vec3 conic, uvec2 origin) {
    precise float det = conic.x * conic.z - conic.y * conic.y;
    det = max(det, 1e-37);
    float level = max(2.0 * log(255.0 * opacity), 0.0) + 2.0e-3;
    precise vec2 extent = sqrt(level * conic.zx / det);
    precise float skew = conic.y / conic.z * extent.x;
    vec2 from = vec2(origin) - mean;
    uint blocks = 0u;
    for (uint row = 0u; row < BLOCK_ROWS; ++row) {
        precise float top = from.y + float(row * BLOCK.y);
        precise float bottom = from.y + float(row * BLOCK.y + BLOCK.y - 1u);
        float lo = max(top, -extent.y);
        float hi = min(bottom, extent.y);
        if (lo <= hi) {
            float dy_right = clamp(-skew, lo, hi);
            float dy_left = clamp(skew, lo, hi);
            precise float root_right = sqrt(max(0.0, level * conic.x - det * dy_right * dy_right));
            precise float root_left = sqrt(max(0.0, level * conic.x - det * dy_left * dy_left));
            precise float right = (root_right - conic.y * dy_right) / conic.x - from.x;
            precise float left = -(root_left + conic.y * dy_left) / conic.x - from.x;
            uint columns = (right >= 0.0 && left <= 7.0 ? 1u : 0u) | (right >= 8.0 && left <= 15.0 ? 2u : 0u);
            blocks |= columns << (2u * row);
        }
    }
    return blocks;
}
