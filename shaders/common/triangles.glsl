// Triangles with shared vertices: what culling, listing and drawing must agree on. Lengths on the image are in samples, whose
// centres are integers; a pixel has `samples` times `samples`. Expects uniform blocks `u` and `tri`.

// Smallest and largest that is drawn: opacity, distance of a corner from the centre, radius of the incircle, cosine of the
// normal with the ray to the centre; and the share of the near plane's depth that corners lie beyond.
const float OPACITY_MIN = 0.01;
const float SIZE_MAX = 1600.0;
const float SIZE_MIN = 1.0;
const float COSINE_MIN = 1e-3;
const float CORNER_NEAR = 0.05;

const uint FAINTEST_SHIFT = 30u;  // bit of a record's first word from which on it names the faintest corner; below stands the triangle

// Focal lengths; principal point.
vec4 lens() {
    float f = float(tri.samples);
    return vec4(f * u.intrinsics.xy, f * (u.intrinsics.zw + 0.5) - 0.5);
}

vec3 unproject(vec2 point, float z) {
    vec4 l = lens();
    return vec3((point - l.zw) / l.xy * z, z);
}

// Samples along the side of a tile, at most 16.
float tile_side() {
    return float(u.list_px * tri.samples);
}
