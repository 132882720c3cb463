#version 450
#extension GL_GOOGLE_include_directive : require
// Writes one (tile, splat) pair per intersection, splats in depth order and each splat's tiles row by row. A thread writes
// the tiles of one splat; splats with many tiles wait and are taken by teams of 32 threads, a row of tiles each. Near splats,
// large ones, come together in depth order and hold up their group, so a group has only a quarter of the 256 splats that
// `tile_sum` added up.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 64) in;
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

const uint SPLATS = 64u;  // of a group
const uint QUARTERS = 4u;
const uint LARGE = 16u;
const uint TEAM = 32u;
const uint TEAMS = SPLATS / TEAM;

shared uvec2 sums[SPLATS];
shared uint large_count;
shared uint large_rows;  // most rows of a large splat
shared uint large_splat[SPLATS];
shared uint large_offset[SPLATS];
shared uint row_tiles[SPLATS];  // tiles of each thread's row
shared uint row_first[SPLATS];  // tiles of the team's rows before it
shared uint row_tile[SPLATS];   // first tile of the row

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

// Sum of `count` over lower threads and of `before` over all.
uint sum_before(uint count, uint before) {
    uint lane = gl_LocalInvocationIndex;
    uvec2 sum = uvec2(count, before);
    sums[lane] = sum;
    barrier();
    for (uint step = 1u; step < SPLATS; step <<= 1u) {
        uvec2 other = lane >= step ? sums[lane - step] : uvec2(0u);
        barrier();
        sum += other;
        sums[lane] = sum;
        barrier();
    }
    return sum.x - count + sums[SPLATS - 1u].y;
}

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint s = group * SPLATS + lane;
    if (group * SPLATS >= counters.visible || counters.stalled != 0u) {
        return;
    }
    if (lane == 0u) {
        large_count = 0u;
        large_rows = 0u;
    }
    bool live = s < counters.visible;
    uint v = live ? depth_order[s] : 0u;
    uint count = live ? tile_counts[v] : 0u;
    uint before = 0u;  // what the thread's neighbours in earlier quarters have
    for (uint quarter = group % QUARTERS; quarter > 0u; --quarter) {
        before += tile_counts[depth_order[s - quarter * SPLATS]];
    }
    uint offset = group_tiles[group / QUARTERS] + sum_before(count, before);
    uint none = u.tiles_x * u.tiles_y;  // sorts behind every tile
    if (live) {
        if (OWNERS != 0u) {
            emission_start[v] = offset;
        }
        if (count > LARGE) {
            uint slot = atomicAdd(large_count, 1u);
            large_splat[slot] = v;
            large_offset[slot] = offset;
            ivec4 rect = load_footprint(v).rect;
            atomicMax(large_rows, uint(max(rect.w - rect.y, 0)));
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
    uint team_lane = lane % TEAM;
    uint team_first = lane - team_lane;
    for (uint k = team_first / TEAM; k - team_first / TEAM < large_count; k += TEAMS) {
        bool busy = k < large_count;
        uint big = busy ? large_splat[k] : 0u;
        uint base = busy ? large_offset[k] : 0u;
        uint tiles = busy ? tile_counts[big] : 0u;
        Footprint f = load_footprint(big);
        uint done = 0u;
        for (uint row = 0u; row < large_rows; row += TEAM) {
            int y = f.rect.y + int(row + team_lane);
            ivec2 span = busy && y < f.rect.w ? clip_to_band(row_span(f, y), y) : ivec2(0);
            barrier();
            row_tiles[lane] = uint(max(span.y - span.x, 0));
            barrier();
            uint before = 0u;
            uint rows = busy ? uint(max(f.rect.w - f.rect.y - int(row), 0)) : 0u;
            for (uint other = team_first; other < team_first + min(rows, team_lane); ++other) {
                before += row_tiles[other];
            }
            row_first[lane] = before;
            row_tile[lane] = uint(y) * u.tiles_x + uint(span.x);
            barrier();
            uint last = team_first + TEAM - 1u;
            uint found = row_first[last] + row_tiles[last];
            for (uint j = team_lane; j < found && done + j < tiles; j += TEAM) {
                // The last row that begins at or before tile j; rows without tiles begin where the next one does.
                uint at = team_first;
                for (uint step = TEAM / 2u; step > 0u; step /= 2u) {
                    at += row_first[at + step] <= j ? step : 0u;
                }
                put(base + done + j, row_tile[at] + (j - row_first[at]), big);
            }
            done += found;
        }
        for (uint j = done + team_lane; j < tiles; j += TEAM) {
            put(base + j, none, big);
        }
    }
}
