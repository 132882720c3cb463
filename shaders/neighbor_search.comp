#version 450
#extension GL_GOOGLE_include_directive : require
// The K nearest centres of each, itself among them: by squared distance, equal ones by id. One thread a Gaussian: the box
// that it is in, then what is beside it and near enough, level by level.
//
// Distances are rounded alike for centres and boxes, and rounding keeps order, so no box is left out that holds a centre as
// near as the last one found.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/box_tree.glsl"

layout(local_size_x = 64) in;

layout(constant_id = 0) const uint K = 16u;  // neighbours of each

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CentersX { float centers_x[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer CentersY { float centers_y[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer CentersZ { float centers_z[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer Order { uint order[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer Places { uint places[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer Boxes { uvec4 boxes[]; };
layout(set = 0, binding = 7, std430) writeonly restrict buffer Neighbors { uint neighbors[]; };

layout(push_constant) uniform Push {
    uint first;  // id of the first Gaussian of this part
    uint count;  // Gaussians that the part has room for
    uint level_0;  // first box of each level
    uint level_1;
    uint level_2;
    uint level_3;
    uint levels;  // at most 4
};

const uint NONE = 0xffffffffu;

float best[K];
uint best_id[K];
uint level_first[4];

vec3 center_at(uint place) {
    return vec3(centers_x[place], centers_y[place], centers_z[place]);
}

bool is_before(float a, uint a_id, float b, uint b_id) {
    return a < b || (a == b && a_id < b_id);
}

void offer(float squared, uint id) {
    if (!is_before(squared, id, best[K - 1u], best_id[K - 1u])) {
        return;
    }
    for (uint j = 0u; j < K; ++j) {
        if (is_before(squared, id, best[j], best_id[j])) {
            float other = best[j];
            uint other_id = best_id[j];
            best[j] = squared;
            best_id[j] = id;
            squared = other;
            id = other_id;
        }
    }
}

float squared_length(vec3 d) {
    precise float sum = d.x * d.x + d.y * d.y;
    precise float all = sum + d.z * d.z;
    return all;
}

void scan_leaf(uint leaf, uint n, vec3 query) {
    uint end = min((leaf + 1u) << BOX_SHIFT, n);
    for (uint at = leaf << BOX_SHIFT; at < end; ++at) {
        precise vec3 d = center_at(at) - query;
        offer(squared_length(d), order[at]);
    }
}

bool is_near(uint level, uint box, vec3 query) {
    uint at = 2u * (level_first[level] + box);
    uvec4 low = boxes[at];
    precise vec3 below = uintBitsToFloat(low.xyz) - query;
    precise vec3 above = query - uintBitsToFloat(boxes[at + 1u].xyz);
    float squared = squared_length(max(max(below, above), vec3(0.0)));
    return is_before(squared, low.w, best[K - 1u], best_id[K - 1u]);
}

// Everything in a box of a level that is near enough, without a stack: the next box is the next number, and a number that
// is a multiple of 32 ends what was below one box.
void visit(uint top, uint root, uint n, vec3 query) {
    uint level = top;
    uint box = root;
    while (true) {
        bool is_there = box < boxes_of(n, level);
        if (is_there && is_near(level, box, query)) {
            if (level > 0u) {
                level -= 1u;
                box <<= BOX_SHIFT;
                continue;
            }
            scan_leaf(box, n, query);
        }
        // Behind the last box of a level nothing follows below the same parent.
        box = is_there ? box + 1u : (box | (BOX_WIDTH - 1u)) + 1u;
        if (level == top) {
            return;
        }
        while ((box & (BOX_WIDTH - 1u)) == 0u) {
            level += 1u;
            box >>= BOX_SHIFT;
            if (level == top) {
                return;
            }
        }
    }
}

void main() {
    uint i = group_index() * 64u + gl_LocalInvocationIndex;
    uint n = counters.stalled == 0u ? counters.gaussians : 0u;
    if (i >= count || first + i >= n) {
        return;
    }
    level_first[0] = level_0;
    level_first[1] = level_1;
    level_first[2] = level_2;
    level_first[3] = level_3;
    for (uint j = 0u; j < K; ++j) {
        best[j] = uintBitsToFloat(0x7f800000u);
        best_id[j] = NONE;
    }
    uint place = places[i];
    vec3 query = center_at(place);
    uint own = place >> BOX_SHIFT;
    scan_leaf(own, n, query);
    for (uint level = 0u; level < levels; ++level) {
        // Boxes below the same parent, the nearer on the curve the earlier.
        uint start = own & ~(BOX_WIDTH - 1u);
        for (uint step = 1u; step < BOX_WIDTH; ++step) {
            if (own >= start + step) {
                visit(level, own - step, n, query);
            }
            if (own + step < start + BOX_WIDTH) {
                visit(level, own + step, n, query);
            }
        }
        own >>= BOX_SHIFT;
    }
    for (uint j = 0u; j < K; ++j) {
        neighbors[i * K + j] = best_id[j];
    }
}
