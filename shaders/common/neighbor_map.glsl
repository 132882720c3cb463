// What a neighbouring view shows between its pixels. Expects its uniform block `n` and the buffer `neighbor_map`: depth, 0 = none;
// grey of the photo, below 0 = none.

// Bilinear value at a place of the image, and its slope per pixel: of the grey, or of the depth. False beyond the outermost
// pixel centres, and where one of the four pixels around has no value.
bool shown(vec2 at, bool grey, out float value, out vec2 slope) {
    value = 0.0;
    slope = vec2(0.0);
    // What is no number is not within either.
    bool within = all(greaterThanEqual(at, vec2(0.0))) && all(lessThanEqual(at, vec2(n.width, n.height) - 1.0));
    if (!within || n.width < 2u || n.height < 2u) {
        return false;
    }
    uvec2 corner = min(uvec2(at), uvec2(n.width, n.height) - 2u);
    vec2 part = at - vec2(corner);
    uint first = corner.y * n.width + corner.x;
    vec2 a = neighbor_map[first], b = neighbor_map[first + 1u];
    vec2 c = neighbor_map[first + n.width], d = neighbor_map[first + n.width + 1u];
    vec4 four = grey ? vec4(a.y, b.y, c.y, d.y) : vec4(a.x, b.x, c.x, d.x);
    float least = min(min(four.x, four.y), min(four.z, four.w));
    if (grey ? least < 0.0 : least <= 0.0) {
        return false;
    }
    float above = mix(four.x, four.y, part.x), below = mix(four.z, four.w, part.x);
    value = mix(above, below, part.y);
    slope = vec2(mix(four.y - four.x, four.w - four.z, part.y), below - above);
    return true;
}
