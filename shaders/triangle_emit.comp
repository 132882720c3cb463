#version 450
#extension GL_GOOGLE_include_directive : require
// Writes one (tile, triangle) pair for every tile of a triangle's box in the band, triangles in depth order, tiles row by row;
// a tile that the triangle itself does not reach gets the key behind all tiles. The triangles of a group lie evenly apart in
// depth order, as near ones, large on the image, come together in it; the group's threads share out all tiles of theirs.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 64) in;

#include "common/triangle_uniforms.glsl"
layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; TriangleUniforms tri; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer DepthOrder { uint depth_order[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer TileCounts { uint tile_counts[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer GroupTiles { uint group_tiles[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer TilesBefore { uint tiles_before[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer Record { uvec4 record[]; };
layout(set = 0, binding = 7, std430) readonly restrict buffer RecordCorners { uvec4 record_corners[]; };
layout(set = 0, binding = 8, std430) readonly restrict buffer VertexScreen { vec4 vertex_screen[]; };
layout(set = 0, binding = 9, std430) writeonly restrict buffer TileKeys { uint tile_keys[]; };
layout(set = 0, binding = 10, std430) writeonly restrict buffer Payloads { uint payloads[]; };
layout(set = 0, binding = 11, std430) writeonly restrict buffer Owners { uint owners[]; };
layout(set = 0, binding = 12, std430) writeonly restrict buffer EmissionStart { uint emission_start[]; };

#include "common/triangles.glsl"
#include "common/triangle_band.glsl"

const uint TRIANGLES = 64u;  // of a group, and threads
// Samples by which an edge must miss a tile, so that rounding never drops one.
const float SLACK = 0.05;
// Owner of a slot without a tile.
const uint NOBODY = 0xffffffffu;

shared uint first_pair[TRIANGLES];  // pairs of the group's triangles before it
shared uint slot_of[TRIANGLES];     // slot of its first pair
shared uint number_of[TRIANGLES];   // its record
shared uvec4 box_of[TRIANGLES];
shared vec2 corner_of[3u * TRIANGLES];
shared uint sums[TRIANGLES];

// Whether some sample of the tile lies on the inner side of an edge, or so near that rounding decides.
bool reaches(vec2 from, vec2 to, vec2 opposite, vec2 low, vec2 high) {
    vec2 along = to - from;
    vec2 n = vec2(along.y, -along.x);
    n = dot(n, opposite - from) > 0.0 ? -n : n;
    vec2 nearest = mix(high, low, greaterThan(n, vec2(0.0)));
    return dot(n, nearest - from) <= SLACK * length(n);
}

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint n = counters.visible;
    uint groups = (n + TRIANGLES - 1u) / TRIANGLES;
    if (group >= groups || counters.stalled != 0u) {
        return;
    }
    uint s = lane * groups + group;
    uint count = 0u;
    if (s < n) {
        uint v = depth_order[s];
        count = tile_counts[v];
        uint base = group_tiles[s / 256u] + tiles_before[s];
        emission_start[v] = base;
        slot_of[lane] = base;
        number_of[lane] = v;
        box_of[lane] = rect_of(record[v]);
        uvec3 corners = record_corners[v].xyz;
        corner_of[3u * lane] = vertex_screen[corners.x].xy;
        corner_of[3u * lane + 1u] = vertex_screen[corners.y].xy;
        corner_of[3u * lane + 2u] = vertex_screen[corners.z].xy;
    }
    sums[lane] = count;
    barrier();
    uint sum = count;
    for (uint step = 1u; step < TRIANGLES; step <<= 1u) {
        uint other = lane >= step ? sums[lane - step] : 0u;
        barrier();
        sum += other;
        sums[lane] = sum;
        barrier();
    }
    first_pair[lane] = sum - count;
    uint total = sums[TRIANGLES - 1u];
    barrier();
    for (uint j = lane; j < total; j += TRIANGLES) {
        // The last triangle whose first pair is not behind this one: it has it, as those without pairs come before others.
        uint k = 0u;
        for (uint step = TRIANGLES / 2u; step > 0u; step >>= 1u) {
            k += first_pair[k + step] <= j ? step : 0u;
        }
        uvec2 tile = band_tile(box_of[k], j - first_pair[k]);
        vec2 low = vec2(tile) * tile_side();
        vec2 high = low + (tile_side() - 1.0);
        vec2 a = corner_of[3u * k], b = corner_of[3u * k + 1u], c = corner_of[3u * k + 2u];
        bool is_in = reaches(a, b, c, low, high) && reaches(b, c, a, low, high) && reaches(c, a, b, low, high);
        uint at = slot_of[k] + j - first_pair[k];
        tile_keys[at] = is_in ? tile.y * u.lists_x + tile.x : u.lists_x * u.lists_y;
        payloads[at] = at;
        owners[at] = is_in ? number_of[k] : NOBODY;
    }
}
