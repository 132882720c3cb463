// A view of a mesh, and a triangle in the frame of its camera.
//
// Edge functions of rays and not of pixels (Olano and Greer 1997): a triangle that crosses the camera's plane needs no
// clipping, and shares of the three functions are barycentric coordinates right in perspective. What decides between
// triangles is `precise`: passes that ask the same question get the same bits.

// A view, and the rows of it that are drawn at a time; written by the host.
struct MeshView {
    vec4 row0;           // first row of the world-to-camera rotation, and translation
    vec4 row1;           // second row
    vec4 row2;           // third row
    vec4 rays;           // step of a ray's slope from sample to sample along x and y, slopes at the picture's upper left corner
    vec4 background;     // rgb where there is no surface; share of its size by which depth may be off
    uint width;          // picture width, px
    uint height;         // picture height, px
    uint samples;        // samples along each side of a pixel
    uint first_row;      // first row of pixels that is drawn
    uint rows;           // rows of pixels that are drawn
    uint texture_side;   // side of the texture, texels
    uint masked;         // 1: the photo carries a mask
    uint reserved;       // fills the block up to whole vectors
};

// A place in the camera's frame.
vec3 to_camera(MeshView view, vec3 p) {
    precise vec3 v = vec3(
        view.row0.x * p.x + view.row0.y * p.y + view.row0.z * p.z + view.row0.w,
        view.row1.x * p.x + view.row1.y * p.y + view.row1.z * p.z + view.row1.w,
        view.row2.x * p.x + view.row2.y * p.y + view.row2.z * p.z + view.row2.w);
    return v;
}

// Slopes of the ray through the middle of a sample.
vec2 ray_of(MeshView view, uvec2 at) {
    precise vec2 ray = (vec2(at) + 0.5) * view.rays.xy + view.rays.zw;
    return ray;
}

vec3 outer(vec3 a, vec3 b) {
    precise vec3 n = vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
    return n;
}

// Product of a vector with the ray of slopes `ray`.
float along(vec3 n, vec2 ray) {
    precise float value = n.x * ray.x + n.y * ray.y + n.z;
    return value;
}

bool comes_before(vec3 a, vec3 b) {
    return a.x != b.x ? a.x < b.x : (a.y != b.y ? a.y < b.y : a.z < b.z);
}

// The plane through the camera and the edge from a to b. Both triangles of an edge get the same bits but for the sign, so that
// no sample falls between them; one end and the difference, because products of ends would lose short edges.
vec3 edge_plane(vec3 a, vec3 b) {
    bool turned = comes_before(b, a);
    vec3 from = turned ? b : a;
    vec3 to = turned ? a : b;
    precise vec3 along_edge = to - from;
    vec3 n = outer(from, along_edge);
    return turned ? -n : n;
}

// A triangle that may be drawn.
struct Facet {
    vec3 edges[3];   // planes of the edges that lie opposite the corners
    vec3 inverse;    // its product with a ray is the inverse of the depth there
    vec2 range;      // least and largest inverse depth of the corners
    ivec4 box;       // samples that it may cover, first and last column, first and last row of the strip; empty for none
};

// The box of a triangle, in samples of the strip.
ivec4 box_of(MeshView view, vec3 v[3]) {
    ivec4 none = ivec4(0, -1, 0, -1);
    int scale = int(view.samples);
    ivec2 first = ivec2(0, int(view.first_row) * scale);
    ivec2 last = ivec2(int(view.width) * scale, int(view.first_row + view.rows) * scale) - 1;
    vec2 low = view.rays.zw + vec2(first) * view.rays.xy;
    vec2 high = view.rays.zw + vec2(last + 1) * view.rays.xy;
    // Wholly beside the strip or behind the camera: true for what crosses the camera's plane too.
    bvec4 beside = bvec4(true);
    bool behind = true;
    for (int k = 0; k < 3; ++k) {
        beside.x = beside.x && v[k].x < low.x * v[k].z;
        beside.y = beside.y && v[k].x > high.x * v[k].z;
        beside.z = beside.z && v[k].y < low.y * v[k].z;
        beside.w = beside.w && v[k].y > high.y * v[k].z;
        behind = behind && !(v[k].z > 0.0);
    }
    if (behind || any(beside)) {
        return none;
    }
    ivec4 box = ivec4(first.x, last.x, first.y, last.y);
    float nearest = min(v[0].z, min(v[1].z, v[2].z));
    float farthest = max(v[0].z, max(v[1].z, v[2].z));
    if (nearest > 1e-6 * farthest) {
        vec2 least = vec2(1e30), most = vec2(-1e30);
        for (int k = 0; k < 3; ++k) {
            vec2 at = (v[k].xy / v[k].z - view.rays.zw) / view.rays.xy;
            least = min(least, at);
            most = max(most, at);
        }
        // A margin for the rounding of these lines.
        least = clamp(ceil(least - 0.52), vec2(first), vec2(last) + 1.0);
        most = clamp(floor(most - 0.48), vec2(first) - 1.0, vec2(last));
        box = ivec4(int(least.x), int(most.x), int(least.y), int(most.y));
    }
    return box.x > box.y || box.z > box.w ? none : box;
}

Facet facet_of(MeshView view, vec3 v[3]) {
    Facet f;
    f.box = box_of(view, v);
    f.edges[0] = edge_plane(v[1], v[2]);
    f.edges[1] = edge_plane(v[2], v[0]);
    f.edges[2] = edge_plane(v[0], v[1]);
    precise vec3 a = v[1] - v[0];
    precise vec3 b = v[2] - v[0];
    vec3 n = outer(a, b);
    precise float volume = v[0].x * n.x + v[0].y * n.y + v[0].z * n.z;
    precise vec3 inverse = n / volume;
    f.inverse = inverse;
    float nearest = min(v[0].z, min(v[1].z, v[2].z));
    float farthest = max(v[0].z, max(v[1].z, v[2].z));
    precise float least = 1.0 / farthest;
    precise float most = 1.0 / nearest;
    f.range = vec2(least, nearest > 0.0 ? most : 1e30);
    // Seen from its edge, or without an area.
    bool is_number = all(lessThan(abs(inverse), vec3(1e30)));
    if (volume == 0.0 || !is_number) {
        f.box = ivec4(0, -1, 0, -1);
    }
    return f;
}

// The three edge functions at a ray.
vec3 shares(Facet f, vec2 ray) {
    return vec3(along(f.edges[0], ray), along(f.edges[1], ray), along(f.edges[2], ray));
}

// Inverse depth where a ray meets the triangle, or 0.
float meet(Facet f, vec2 ray) {
    vec3 e = shares(f, ray);
    bool inside = all(greaterThanEqual(e, vec3(0.0))) || all(lessThanEqual(e, vec3(0.0)));
    float inverse = along(f.inverse, ray);
    // Slivers may be off by more than their own depth.
    return inside && inverse > 0.0 ? clamp(inverse, f.range.x, f.range.y) : 0.0;
}
