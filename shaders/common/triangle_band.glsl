// The tiles of a record's box that lie in the band. Expects a uniform block `u`.

// Tiles [x, z) by [y, w) of a record.
uvec4 rect_of(uvec4 record) {
    return uvec4(record.y & 0xffffu, record.y >> 16, record.z & 0xffffu, record.z >> 16);
}

// First and one-past-last tile of a row of the box that are in [u.band_begin, u.band_end).
uvec2 band_span(uvec4 rect, uint row) {
    uint base = row * u.lists_x;
    uint first = max(rect.x, u.band_begin > base ? u.band_begin - base : 0u);
    uint end = min(rect.z, u.band_end > base ? u.band_end - base : 0u);
    return uvec2(first, max(first, end));
}

// Rows of the box that have tiles in the band: first, one past the last.
uvec2 band_rows(uvec4 rect) {
    uint first = max(rect.y, u.band_begin / u.lists_x);
    uint end = min(rect.w, (u.band_end + u.lists_x - 1u) / u.lists_x);
    return uvec2(first, max(first, end));
}

// Number of them all.
uint band_tiles(uvec4 rect) {
    uvec2 rows = band_rows(rect);
    uint n = rows.y - rows.x;
    if (n == 0u) {
        return 0u;
    }
    uvec2 top = band_span(rect, rows.x);
    if (n == 1u) {
        return top.y - top.x;
    }
    uvec2 bottom = band_span(rect, rows.y - 1u);
    return top.y - top.x + (n - 2u) * (rect.z - rect.x) + bottom.y - bottom.x;
}

// The k-th of them, row by row.
uvec2 band_tile(uvec4 rect, uint k) {
    uvec2 rows = band_rows(rect);
    uvec2 top = band_span(rect, rows.x);
    uint first = top.y - top.x;
    if (k < first) {
        return uvec2(top.x + k, rows.x);
    }
    uint width = rect.z - rect.x;
    return uvec2(rect.x + (k - first) % width, rows.x + 1u + (k - first) / width);
}
