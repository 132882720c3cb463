// Gaussians on triangles: where their places are, and the axes of a triangle. The includer binds `vertices` and `triangles`.

// Below this share of the first side's square, twice its area, a triangle has no plane that could turn.
const float LEAST_AREA = 1e-6;

// Barycentric place of a Gaussian among the `per_triangle` of its triangle: 1, 3, 4 or 6.
vec3 place(uint per_triangle, uint slot) {
    bool has_middle = per_triangle == 1u || per_triangle == 4u;
    if (has_middle && slot == 0u) {
        return vec3(1.0 / 3.0);
    }
    uint k = slot - uint(has_middle);
    float own = per_triangle == 3u ? 0.5 : k < 3u ? 2.0 / 3.0 : 1.0 / 6.0;
    vec3 at = vec3(0.5 * (1.0 - own));
    at[k % 3u] = own;
    return at;
}

struct Triangle {
    vec3 a;
    vec3 b;
    vec3 c;
};

vec3 load_vertex(uint vertex) {
    return vec3(vertices[3u * vertex], vertices[3u * vertex + 1u], vertices[3u * vertex + 2u]);
}

Triangle load_triangle(uint t) {
    return Triangle(load_vertex(triangles[3u * t]), load_vertex(triangles[3u * t + 1u]),
                    load_vertex(triangles[3u * t + 2u]));
}

// The axes of a triangle: its normal, its first side from b to a, and normal x side.
struct Frame {
    vec3 normal;
    vec3 side;
    vec3 third;
    float reach;   // length of the first side
    bool sound;    // it has an area
};

Frame frame_of(Triangle t) {
    Frame f;
    vec3 side = t.a - t.b;
    vec3 area = cross(t.b - t.a, t.c - t.a);
    f.reach = length(side);
    f.side = f.reach > 0.0 ? side / f.reach : vec3(1.0, 0.0, 0.0);
    float twice = length(area);
    f.sound = f.reach > 0.0 && twice > LEAST_AREA * f.reach * f.reach;
    if (f.sound) {
        f.normal = area / twice;
    } else {
        // Any normal to the side, from the axis that is least along it.
        vec3 s = abs(f.side);
        vec3 axis = s.x <= s.y && s.x <= s.z ? vec3(1.0, 0.0, 0.0) : s.y <= s.z ? vec3(0.0, 1.0, 0.0) : vec3(0.0, 0.0, 1.0);
        f.normal = normalize(cross(f.side, axis));
    }
    f.third = cross(f.normal, f.side);
    return f;
}
