#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: subgroup SUBGROUP=1
// Radix sort, third pass: moves keys and payloads to their places, keeping the order of equal digits.
//
// Portable variant: every thread ranks 16 consecutive keys against counters of its own, then the group scans the
// counters digit by digit. Subgroup variant: lanes find their equals by ballot and keep one histogram per subgroup.
#ifdef SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#endif
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/scan.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint BITS = 4u;
layout(constant_id = 1) const uint COUNTER = 2u;
layout(constant_id = 2) const uint SORT_BLOCK = 4096u;
layout(constant_id = 3) const uint FIRST = 0u;      // 1: payloads are the keys' own indices
#ifdef SUBGROUP
layout(constant_id = 4) const uint SUBGROUPS = 8u;  // subgroups in a group
#endif

layout(set = 0, binding = 0, std430) readonly restrict buffer CountersBlock { uint counters[]; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Histogram { uint histogram[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer KeysIn { uint keys_in[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer ValuesIn { uint values_in[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer KeysOut { uint keys_out[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer ValuesOut { uint values_out[]; };

layout(push_constant) uniform Push {
    uint shift;
    uint block_cap;
};

const uint ITEMS = SORT_BLOCK / 256u;
shared uint digit_base[256];

// First output index of this block's keys with digit `lane`.
void load_bases(uint block, uint digits) {
    uint lane = gl_LocalInvocationIndex;
    uint total;
    uint count = lane < digits ? histogram[digits * block_cap + lane] : 0u;
    uint base = group_exclusive_scan(count, total);
    if (lane < digits) {
        digit_base[lane] = base + histogram[lane * block_cap + block];
    }
}

#ifdef SUBGROUP

shared uint ranks[SUBGROUPS * 256u];

void main() {
    uint n = counters[COUNTER];
    uint block = group_index();
    if (block * SORT_BLOCK >= n) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    uint digits = 1u << BITS;
    load_bases(block, digits);
    for (uint k = lane; k < SUBGROUPS * 256u; k += 256u) {
        ranks[k] = 0u;
    }
    barrier();
    // A subgroup owns consecutive keys, so that order inside the block is subgroup by subgroup, round by round.
    uint first = block * SORT_BLOCK + gl_SubgroupID * (ITEMS * gl_SubgroupSize);
    uint keys[ITEMS];
    uint places[ITEMS];
    for (uint k = 0u; k < ITEMS; ++k) {
        uint at = first + k * gl_SubgroupSize + gl_SubgroupInvocationID;
        bool live = at < n;
        keys[k] = live ? keys_in[at] : 0xffffffffu;
        uint digit = (keys[k] >> shift) & (digits - 1u);
        uvec4 same = subgroupBallot(live);
        for (uint bit = 0u; bit < BITS; ++bit) {
            bool set = ((digit >> bit) & 1u) != 0u;
            uvec4 votes = subgroupBallot(set);
            same &= set ? votes : ~votes;
        }
        uint before = subgroupBallotExclusiveBitCount(same);
        uint slot = gl_SubgroupID * 256u + digit;
        uint base = live ? ranks[slot] : 0u;
        subgroupBarrier();
        if (live && before == 0u) {
            ranks[slot] = base + subgroupBallotBitCount(same);
        }
        subgroupBarrier();
        places[k] = base + before;
    }
    barrier();
    if (lane < digits) {
        uint sum = digit_base[lane];
        for (uint s = 0u; s < SUBGROUPS; ++s) {
            uint count = ranks[s * 256u + lane];
            ranks[s * 256u + lane] = sum;
            sum += count;
        }
    }
    barrier();
    for (uint k = 0u; k < ITEMS; ++k) {
        uint at = first + k * gl_SubgroupSize + gl_SubgroupInvocationID;
        if (at < n) {
            uint digit = (keys[k] >> shift) & (digits - 1u);
            uint to = ranks[gl_SubgroupID * 256u + digit] + places[k];
            keys_out[to] = keys[k];
            values_out[to] = FIRST != 0u ? at : values_in[at];
        }
    }
}

#else

// One counter per digit and thread, digit-major. BITS is 4 here, so 16 * 256 words: 16 KiB.
shared uint thread_counts[16 * 256];

void main() {
    uint n = counters[COUNTER];
    uint block = group_index();
    if (block * SORT_BLOCK >= n) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    uint digits = 1u << BITS;
    load_bases(block, digits);
    for (uint d = 0u; d < digits; ++d) {
        thread_counts[d * 256u + lane] = 0u;
    }
    barrier();
    uint first = block * SORT_BLOCK + lane * ITEMS;
    uint keys[ITEMS];
    uint places[ITEMS];
    for (uint k = 0u; k < ITEMS; ++k) {
        if (first + k < n) {
            keys[k] = keys_in[first + k];
            uint slot = ((keys[k] >> shift) & (digits - 1u)) * 256u + lane;
            places[k] = thread_counts[slot];
            thread_counts[slot] = places[k] + 1u;
        }
    }
    barrier();
    // Digit d's threads are consecutive: 16 threads scan a digit's row of 256 together.
    uint sum = 0u;
    for (uint k = 0u; k < 16u; ++k) {
        uint slot = lane * 16u + k;
        uint count = slot < digits * 256u ? thread_counts[slot] : 0u;
        thread_counts[slot] = sum;
        sum += count;
    }
    uint total;
    uint offset = group_exclusive_scan(sum, total);
    for (uint k = 0u; k < 16u; ++k) {
        thread_counts[lane * 16u + k] += offset;
    }
    barrier();
    for (uint k = 0u; k < ITEMS; ++k) {
        if (first + k < n) {
            uint digit = (keys[k] >> shift) & (digits - 1u);
            uint to = digit_base[digit] + thread_counts[digit * 256u + lane] - thread_counts[digit * 256u] + places[k];
            keys_out[to] = keys[k];
            values_out[to] = FIRST != 0u ? first + k : values_in[first + k];
        }
    }
}

#endif
