// Triangles of a tile's list in shared memory, and what covers a sample. Expects `STAGED`, the buffers `payloads`, `owners`,
// `record_corners`, `vertex_screen` and `vertex_color`, and uniform blocks `u` and `tri`.
//
// Edge e goes from corner e to corner e + 1; corner e + 2 lies opposite.

const float ALPHA_MIN = 1.0 / 255.0;
const float ALPHA_MAX = 0.999;
const float TRANSMITTANCE_STOP = 1e-4;

shared vec4 staged_01[STAGED];      // corners 0 and 1, samples
shared vec4 staged_2[STAGED];       // corner 2; opacity; radius of the incircle
shared vec4 staged_n01[STAGED];     // outward unit normals of edges 0 and 1
shared vec4 staged_n2[STAGED];      // of edge 2; unused; twice the area
shared vec3 staged_lengths[STAGED]; // of the edges

// A sample inside of a triangle.
struct Cover {
    float phi;     // signed distance to the nearest edge, below 0
    uint edge;     // that edge
    float window;
    float alpha;   // 0 where the triangle leaves the sample alone
    vec3 shares;   // barycentrics of the corners
};

// The record at a place of the lists.
uint record_at(uint at) {
    return owners[payloads[at]];
}

vec2 outward(vec2 edge, float turn, float long_edge) {
    return turn * vec2(edge.y, -edge.x) / long_edge;
}

void stage_outline(uint k, uvec4 corners) {
    vec2 a = vertex_screen[corners.x].xy, b = vertex_screen[corners.y].xy, c = vertex_screen[corners.z].xy;
    vec2 e0 = b - a, e1 = c - b, e2 = a - c;
    vec3 lengths = vec3(length(e0), length(e1), length(e2));
    float signed_area = e0.x * -e2.y + e0.y * e2.x;
    float turn = signed_area < 0.0 ? -1.0 : 1.0;
    float area2 = abs(signed_area);
    staged_01[k] = vec4(a, b);
    staged_2[k] = vec4(c, uintBitsToFloat(corners.w), area2 / (lengths.x + lengths.y + lengths.z));
    staged_n01[k] = vec4(outward(e0, turn, lengths.x), outward(e1, turn, lengths.y));
    staged_n2[k] = vec4(outward(e2, turn, lengths.z), 0.0, area2);
    staged_lengths[k] = lengths;
}

// Signed distances of a sample to the three edges.
vec3 distances(uint k, vec2 p) {
    vec4 ab = staged_01[k], n01 = staged_n01[k];
    vec2 c = staged_2[k].xy;
    precise vec3 phi = vec3(dot(n01.xy, p - ab.xy), dot(n01.zw, p - ab.zw), dot(staged_n2[k].xy, p - c));
    return phi;
}

// Barycentrics of the corners at a sample of these distances.
vec3 shares_of(uint k, vec3 phi) {
    return -(phi.yzx * staged_lengths[k].yzx) / staged_n2[k].w;
}

Cover cover_at(uint k, vec2 p) {
    Cover c;
    vec3 phi = distances(k, p);
    c.edge = phi.y > phi.x ? 1u : 0u;
    c.phi = max(phi.x, phi.y);
    if (phi.z > c.phi) {
        c.edge = 2u;
        c.phi = phi.z;
    }
    c.alpha = 0.0;
    c.window = 0.0;
    c.shares = vec3(0.0);
    if (c.phi < 0.0) {
        vec4 last = staged_2[k];
        precise float window = exp2(tri.sigma * log2(-c.phi / last.w));
        precise float alpha = min(last.z * window, ALPHA_MAX);
        c.window = window;
        c.alpha = alpha >= ALPHA_MIN ? alpha : 0.0;
        c.shares = shares_of(k, phi);
    }
    return c;
}

// Whether the tile of the pixel `origin` and the image have a sample at this place of the tile.
bool is_inside(uvec2 origin, uvec2 place) {
    uvec2 pixel = place / tri.samples;
    return all(lessThan(pixel, uvec2(u.list_px))) && all(lessThan(origin + pixel, uvec2(u.width, u.height)));
}

// Depths, colours of the corners, and the normal turned towards the camera.
struct Shade {
    vec3 depths;
    vec3 color_0;
    vec3 color_1;
    vec3 color_2;
    vec3 normal;
};

vec3 color_of(uint v) {
    return vec3(vertex_color[3u * v], vertex_color[3u * v + 1u], vertex_color[3u * v + 2u]);
}

Shade shade_of(uvec4 corners) {
    vec4 a = vertex_screen[corners.x], b = vertex_screen[corners.y], c = vertex_screen[corners.z];
    Shade s;
    s.depths = vec3(a.z, b.z, c.z);
    s.color_0 = color_of(corners.x);
    s.color_1 = color_of(corners.y);
    s.color_2 = color_of(corners.z);
    vec3 p = unproject(a.xy, a.z), q = unproject(b.xy, b.z), r = unproject(c.xy, c.z);
    vec3 raw = cross(q - p, r - p);
    s.normal = raw * ((dot(raw, p + q + r) > 0.0 ? -1.0 : 1.0) / length(raw));
    return s;
}
