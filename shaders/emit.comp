#version 450
#extension GL_GOOGLE_include_directive : require
// Writes one (tile, splat) pair per intersection, splats in depth order and each splat's tiles row by row. Splats with
// many tiles are spread over the whole group so that one large splat does not hold up 255 threads.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/scan.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint OWNERS = 0u;  // 1: payload is the emission index and `owners` names the splat

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer DepthOrder { uint depth_order[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer TileCounts { uint tile_counts[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer GroupTiles { uint group_tiles[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer SplatPosition { vec4 splat_position[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer SplatConic { vec4 splat_conic[]; };
layout(set = 0, binding = 7, std430) writeonly restrict buffer TileKeys { uint tile_keys[]; };
layout(set = 0, binding = 8, std430) writeonly restrict buffer Payloads { uint payloads[]; };
layout(set = 0, binding = 9, std430) writeonly restrict buffer Owners { uint owners[]; };
layout(set = 0, binding = 10, std430) writeonly restrict buffer EmissionStart { uint emission_start[]; };

#include "common/tiles.glsl"

const uint LARGE = 64u;

shared uint large_count;
shared uint large_splat[256];
shared uint large_offset[256];

// Owner of a slot that was counted but has no tile: two shaders may round a borderline tile differently. The tile's
// gradient is never written there, so the fold must not read it.
const uint NOBODY = 0xffffffffu;

void put(uint at, uint tile, uint v) {
    tile_keys[at] = tile;
    if (OWNERS != 0u) {
        payloads[at] = at;
        owners[at] = tile < u.tiles_x * u.tiles_y ? v : NOBODY;
    } else {
        payloads[at] = v;
    }
}

Footprint load_footprint(uint v) {
    vec4 a = splat_position[v];
    return footprint(a.xy, splat_conic[v].xyz, a.w, a.z, uvec2(u.tiles_x, u.tiles_y));
}

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint s = group * 256u + lane;
    if (group * 256u >= counters.visible || counters.stalled != 0u) {
        return;
    }
    if (lane == 0u) {
        large_count = 0u;
    }
    bool live = s < counters.visible;
    uint v = live ? depth_order[s] : 0u;
    uint count = live ? tile_counts[v] : 0u;
    uint total;
    uint offset = group_tiles[group] + group_exclusive_scan(count, total);
    uint none = u.tiles_x * u.tiles_y;  // sorts behind every tile
    if (live) {
        if (OWNERS != 0u) {
            emission_start[v] = offset;
        }
        if (count > LARGE) {
            uint slot = atomicAdd(large_count, 1u);
            large_splat[slot] = v;
            large_offset[slot] = offset;
        } else if (count > 0u) {
            Footprint f = load_footprint(v);
            uint done = 0u;
            for (int row = f.rect.y; row < f.rect.w; ++row) {
                ivec2 span = clip_to_band(row_span(f, row), row);
                for (int x = span.x; x < span.y && done < count; ++x) {
                    put(offset + done, uint(row) * u.tiles_x + uint(x), v);
                    ++done;
                }
            }
            for (; done < count; ++done) {
                put(offset + done, none, v);
            }
        }
    }
    barrier();
    uint larges = large_count;
    for (uint k = 0u; k < larges; ++k) {
        uint big = large_splat[k];
        uint base = large_offset[k];
        uint tiles = tile_counts[big];
        Footprint f = load_footprint(big);
        int row = f.rect.y;
        ivec2 span = row < f.rect.w ? clip_to_band(row_span(f, row), row) : ivec2(0);
        uint row_first = 0u;
        for (uint j = lane; j < tiles; j += 256u) {
            while (row < f.rect.w && j >= row_first + uint(max(span.y - span.x, 0))) {
                row_first += uint(max(span.y - span.x, 0));
                ++row;
                span = row < f.rect.w ? clip_to_band(row_span(f, row), row) : ivec2(0);
            }
            put(base + j, row < f.rect.w ? uint(row) * u.tiles_x + uint(span.x) + (j - row_first) : none, big);
        }
    }
}
