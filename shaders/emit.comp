#version 450
#extension GL_GOOGLE_include_directive : require
// Writes one (tile, splat) pair per intersection, splats in depth order and each splat's tiles row by row. A thread writes
// the tiles of one splat; the rows of splats with many tiles are shared out among the threads of the group, and so are the
// tiles of those rows. Near splats, large ones, come together in depth order: the splats of a group lie evenly apart in it, so
// that no group has many of them.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint OWNERS = 0u;  // 1: payload is the emission index and `owners` names the splat

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer DepthOrder { uint depth_order[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer TileCounts { uint tile_counts[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer GroupTiles { uint group_tiles[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer TilesBefore { uint tiles_before[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer SplatPosition { vec4 splat_position[]; };
layout(set = 0, binding = 7, std430) readonly restrict buffer SplatConic { vec4 splat_conic[]; };
layout(set = 0, binding = 8, std430) writeonly restrict buffer TileKeys { uint tile_keys[]; };
layout(set = 0, binding = 9, std430) writeonly restrict buffer Payloads { uint payloads[]; };
layout(set = 0, binding = 10, std430) writeonly restrict buffer Owners { uint owners[]; };
layout(set = 0, binding = 11, std430) writeonly restrict buffer EmissionStart { uint emission_start[]; };

#include "common/tiles.glsl"

const uint SPLATS = 64u;  // of a group, and threads
const uint LARGE = 16u;   // tiles from which on a splat's rows are shared out

shared uint sums[SPLATS];
shared uint large_count;
shared uint large_splat[SPLATS];
shared uint large_base[SPLATS];   // slot of its first tile
shared uint large_tiles[SPLATS];  // tiles that were counted
shared int large_top[SPLATS];     // its first row of tiles
shared uint large_first[SPLATS];  // rows of the large splats before it
shared uint large_done[SPLATS];   // tiles written so far
shared uint row_first[SPLATS];    // tiles of the rows before a thread's, in this round
shared uint row_slot[SPLATS];     // slot of the row's first tile
shared uint row_tile[SPLATS];     // first tile of the row
shared uint row_large[SPLATS];    // which large splat it is of

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

// Sum of `value` over lower threads; `total` becomes the sum over all.
uint sum_before(uint value, out uint total) {
    uint lane = gl_LocalInvocationIndex;
    uint sum = value;
    barrier();
    sums[lane] = value;
    barrier();
    for (uint step = 1u; step < SPLATS; step <<= 1u) {
        uint other = lane >= step ? sums[lane - step] : 0u;
        barrier();
        sum += other;
        sums[lane] = sum;
        barrier();
    }
    total = sums[SPLATS - 1u];
    return sum - value;
}

// The last of the first `count` places whose value is not above `wanted`; values ascend and the first is 0.
#define LAST_NOT_ABOVE(PLACE, VALUES, COUNT, WANTED)                                  \
    uint PLACE = 0u;                                                                  \
    for (uint step = SPLATS / 2u; step > 0u; step >>= 1u) {                           \
        PLACE += PLACE + step < COUNT && VALUES[PLACE + step] <= WANTED ? step : 0u; \
    }

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint n = counters.visible;
    uint groups = (n + SPLATS - 1u) / SPLATS;
    if (group >= groups || counters.stalled != 0u) {
        return;
    }
    if (lane == 0u) {
        large_count = 0u;
    }
    barrier();
    uint s = lane * groups + group;
    uint none = u.tiles_x * u.tiles_y;  // sorts behind every tile
    if (s < n) {
        uint v = depth_order[s];
        uint count = tile_counts[v];
        uint base = group_tiles[s / 256u] + tiles_before[s];
        if (OWNERS != 0u) {
            emission_start[v] = base;
        }
        if (count > LARGE) {
            uint place = atomicAdd(large_count, 1u);
            large_splat[place] = v;
            large_base[place] = base;
            large_tiles[place] = count;
            large_done[place] = 0u;
        } else if (count > 0u) {
            Footprint f = load_footprint(v);
            uint done = 0u;
            for (int row = f.rect.y; row < f.rect.w; ++row) {
                ivec2 span = clip_to_band(row_span(f, row), row);
                for (int x = span.x; x < span.y && done < count; ++x) {
                    put(base + done, uint(row) * u.tiles_x + uint(x), v);
                    ++done;
                }
            }
            for (; done < count; ++done) {
                put(base + done, none, v);
            }
        }
    }
    barrier();
    uint large_total = large_count;
    if (large_total == 0u) {
        return;
    }
    uint rows = 0u;
    if (lane < large_total) {
        ivec4 rect = load_footprint(large_splat[lane]).rect;
        large_top[lane] = rect.y;
        rows = uint(max(rect.w - rect.y, 0));
    }
    uint all_rows;
    large_first[lane] = sum_before(rows, all_rows);
    barrier();
    for (uint round = 0u; round < all_rows; round += SPLATS) {
        uint item = round + lane;
        LAST_NOT_ABOVE(k, large_first, large_total, item)
        uint tiles = 0u;
        int row = large_top[k] + int(item - large_first[k]);
        ivec2 span = ivec2(0);
        if (item < all_rows) {
            span = clip_to_band(row_span(load_footprint(large_splat[k]), row), row);
            tiles = uint(max(span.y - span.x, 0));
        }
        uint all_tiles;
        uint before = sum_before(tiles, all_tiles);
        row_first[lane] = before;
        barrier();
        // Where the splat's rows begin in this round; its tiles of earlier rounds are written.
        uint begin = max(large_first[k], round) - round;
        uint done = large_done[k] + before - row_first[begin];
        row_slot[lane] = large_base[k] + done;
        row_tile[lane] = uint(row) * u.tiles_x + uint(span.x);
        row_large[lane] = k;
        barrier();
        bool ends = item + 1u == (k + 1u < large_total ? large_first[k + 1u] : all_rows) || lane == SPLATS - 1u;
        if (item < all_rows && ends) {
            large_done[k] = done + tiles;
        }
        for (uint j = lane; j < all_tiles; j += SPLATS) {
            LAST_NOT_ABOVE(r, row_first, SPLATS, j)
            uint big = row_large[r];
            uint at = row_slot[r] + (j - row_first[r]);
            if (at - large_base[big] < large_tiles[big]) {
                put(at, row_tile[r] + (j - row_first[r]), large_splat[big]);
            }
        }
        barrier();
    }
    for (uint k = 0u; k < large_total; ++k) {
        for (uint j = large_done[k] + lane; j < large_tiles[k]; j += SPLATS) {
            put(large_base[k] + j, none, large_splat[k]);
        }
    }
}
