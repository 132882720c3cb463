// Which triangles a view draws. Expects `triangles.glsl`, uniform blocks `u` and `tri`, and the buffer `vertex_screen`.

struct Facet {
    bool shown;
    float opacity;
    uint faintest;
    float depth;   // of the centre
    float size;    // largest distance of a corner from the projected centre, whole samples upwards
    uvec4 rect;    // tiles [x, z) by [y, w)
};

Facet facet_of(uvec3 corners) {
    Facet f;
    f.shown = false;
    vec4 a = vertex_screen[corners.x], b = vertex_screen[corners.y], c = vertex_screen[corners.z];
    f.depth = (a.z + b.z + c.z) * (1.0 / 3.0);
    float corner_near = CORNER_NEAR * u.near_z;
    // Written so that a NaN fails the tests.
    if (!(f.depth > u.near_z) || !(a.z > corner_near) || !(b.z > corner_near) || !(c.z > corner_near)) {
        return f;
    }
    f.faintest = b.w < a.w ? 1u : 0u;
    f.opacity = min(a.w, b.w);
    if (c.w < f.opacity) {
        f.faintest = 2u;
        f.opacity = c.w;
    }
    if (!(f.opacity >= OPACITY_MIN)) {
        return f;
    }
    vec3 p = unproject(a.xy, a.z), q = unproject(b.xy, b.z), r = unproject(c.xy, c.z);
    vec3 centre = (p + q + r) * (1.0 / 3.0);
    vec3 raw = cross(q - p, r - p);
    float long_raw = length(raw);
    if (!(abs(dot(raw, centre)) >= COSINE_MIN * long_raw * length(centre)) || !(long_raw > 0.0)) {
        return f;
    }
    vec2 e0 = b.xy - a.xy, e1 = c.xy - b.xy, e2 = a.xy - c.xy;
    float area2 = abs(e0.x * -e2.y + e0.y * e2.x);
    float radius = area2 / (length(e0) + length(e1) + length(e2));
    vec4 l = lens();
    vec2 middle = l.xy * (centre.xy / centre.z) + l.zw;
    f.size = ceil(max(distance(a.xy, middle), max(distance(b.xy, middle), distance(c.xy, middle))));
    if (!(f.size <= SIZE_MAX) || !(f.size >= SIZE_MIN) || !(radius >= SIZE_MIN)) {
        return f;
    }
    vec2 grid = vec2(u.lists_x, u.lists_y);
    vec2 low = clamp(floor(min(a.xy, min(b.xy, c.xy)) / tile_side()), vec2(0.0), grid);
    vec2 high = clamp(floor(max(a.xy, max(b.xy, c.xy)) / tile_side()) + 1.0, vec2(0.0), grid);
    f.rect = uvec4(low, high);
    f.shown = f.rect.x < f.rect.z && f.rect.y < f.rect.w;
    return f;
}
