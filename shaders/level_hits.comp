#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// Which Gaussian a candidate pixel shows: the one at which half the light is blocked. Pixels out of the band keep theirs.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/raster.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint OWNERS = 0u;
layout(constant_id = 1) const uint UNROLLED = 0u;  // several splats a turn, see `common/turns.glsl`

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer TileRanges { uvec2 tile_ranges[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Payloads { uint payloads[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer Owners { uint owners[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer SplatPosition { vec4 splat_position[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer SplatConic { vec4 splat_conic[]; };
layout(set = 0, binding = 7, std430) readonly restrict buffer RecordIds { uint record_ids[]; };
layout(set = 0, binding = 8, std430) writeonly restrict buffer Hits { uint hits[]; };

layout(push_constant) uniform Push {
    uint candidates;
};

#include "common/rng.glsl"
#include "common/candidate.glsl"

const uint NONE = 0xffffffffu;
const uint PER_TURN = UNROLLED != 0u ? 16u : 1u;

void main() {
    uint k = group_index() * 64u + gl_LocalInvocationIndex;
    uint at;
    if (counters.stalled != 0u || !candidate_pixel(k, candidates, at)) {
        return;
    }
    uvec2 pixel = uvec2(at % u.width, at / u.width);
    uint tile = (pixel.y / 16u) * u.tiles_x + pixel.x / 16u;
    if (tile < u.band_begin || tile >= u.band_end) {
        return;
    }
    uint hit = NONE;
    float transmittance = 1.0;
    uvec2 range = tile_ranges[tile];
    for (uint first = range.x; first < range.y && hit == NONE; first += PER_TURN) {
        [[unroll]] for (uint i = 0u; i < PER_TURN; ++i) {
            uint entry = UNROLLED == 0u ? first : min(first + i, range.y - 1u);
            uint payload = payloads[entry];
            uint v = OWNERS != 0u ? owners[payload] : payload;
            vec4 position = splat_position[v];
            float power = scaled_power(scaled_conic(splat_conic[v].xyz), position.xy - vec2(pixel));
            float alpha = min(ALPHA_MAX, position.w * exp2(power));
            bool is_listed = UNROLLED == 0u || (entry == first + i && hit == NONE);
            if (is_listed && power <= 0.0 && alpha >= ALPHA_MIN) {
                transmittance *= 1.0 - alpha;
                hit = transmittance <= 0.5 ? record_ids[v] : NONE;
            }
        }
    }
    hits[k] = hit;
}
