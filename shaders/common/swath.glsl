// Swaths: where an image is larger than a binding, a pass runs once for each swath of tile rows and binds their pixels. A
// row of tiles or strips belongs to the swath that its first pixel is in. Expects the push constants `swath_begin`,
// `swath_end` and `swath_base`, and a uniform block `u`.

// True when the tiles or strips that begin at pixel row `y` belong to the swath.
bool in_swath(uint y) {
    uint first = y * u.width;
    return first >= swath_begin && first < swath_end;
}

// The same of rows next to the swath as well, `rows` being those of a tile or strip: their maps reach into it.
bool near_swath(uint y, uint rows) {
    return in_swath(y) || in_swath(y - min(y, rows)) || in_swath(y + rows);
}
