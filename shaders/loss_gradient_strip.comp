#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// kiln-like: loss_gradient
// What `loss_gradient` computes, walking down strips as `ssim_strip` does.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/window.glsl"

layout(local_size_x = 192) in;
layout(constant_id = 0) const uint MASKED = 0u;  // 1: photos carry masks

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Image { vec4 image[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Target { uint target[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer SsimMaps { float ssim_maps[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer ImageGradient { vec4 image_gradient[]; };

layout(push_constant) uniform Push {
    uint swath_begin;  // pixels that rows of this swath begin at
    uint swath_end;    // one past the last
    uint swath_base;   // pixel that bound tensors begin with
    uint target_base;  // the same of the ground truth
    uint map_pixels;   // pixels of a map
};
#include "common/swath.glsl"

#include "common/strip.glsl"

// Two rows of the three maps by channel, and two rows of results, which leave as whole pixels one row later.
shared float line_p[2 * 3 * LINE], line_q[2 * 3 * LINE], line_r[2 * 3 * LINE];
shared float results[2 * 3 * STRIP_WIDTH];
shared float errors[2 * 3 * STRIP_WIDTH];

#include "common/target.glsl"

// The three maps at a pixel, zero outside.
vec3 maps_at(int x, int y, uint channel) {
    if (x < 0 || y < 0 || x >= int(u.width) || y >= int(u.height)) {
        return vec3(0.0);
    }
    uint at = channel * 3u * map_pixels + uint(y) * u.width + uint(x) - swath_base;
    return vec3(ssim_maps[at], ssim_maps[at + map_pixels], ssim_maps[at + 2u * map_pixels]);
}

void put_line(int at, vec3 maps) {
    line_p[at] = maps.x;
    line_q[at] = maps.y;
    line_r[at] = maps.z;
}

void main() {
    uint group = group_index();
    if (group >= strip_count() || counters.stalled != 0u) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    Strip strip = strip_at(group);
    if (!in_swath(uint(strip.origin.y))) {
        return;
    }
    uint channel = lane / uint(STRIP_WIDTH);
    int column = int(lane) % STRIP_WIDTH;
    int x = strip.origin.x + column;
    int top = strip.origin.y - HALO;
    bool wide = column < 2 * HALO;
    float p[11], q[11], r[11];
    [[unroll]] for (int k = 0; k < 11; ++k) {
        p[k] = q[k] = r[k] = 0.0;
    }
    vec3 next = maps_at(x - HALO, top, channel);
    vec3 next_right = wide ? maps_at(x - HALO + STRIP_WIDTH, top, channel) : vec3(0.0);
    int total = strip.rows + 2 * HALO;
    for (int row = 0; row <= total; ++row) {
        int line = ((row & 1) * 3 + int(channel)) * LINE + column;
        put_line(line, next);
        if (wide) {
            put_line(line + STRIP_WIDTH, next_right);
        }
        barrier();
        if (row > 2 * HALO && channel == 0u && x < int(u.width)) {
            int at = (row - 1 & 1) * 3 * STRIP_WIDTH + column;
            uint index = uint(top + row - 1 - HALO) * u.width + uint(x) - swath_base;
            float error = (errors[at] + errors[at + STRIP_WIDTH] + errors[at + 2 * STRIP_WIDTH]) / 3.0;
            image_gradient[index] = vec4(results[at], results[at + STRIP_WIDTH], results[at + 2 * STRIP_WIDTH], error);
        }
        if (row == total) {
            break;
        }
        next = maps_at(x - HALO, top + row + 1, channel);
        next_right = wide ? maps_at(x - HALO + STRIP_WIDTH, top + row + 1, channel) : vec3(0.0);
        bool complete = row >= 2 * HALO && x < int(u.width);
        float a = 0.0, b = 0.0;
        float weight = u.weights.z;
        if (complete) {
            ivec2 pixel = ivec2(x, top + row - HALO);
            uint index = uint(pixel.y) * u.width + uint(x);
            a = image[index - swath_base][channel];
            b = target_value(index, channel);
            if (MASKED != 0u) {
                float mask = mask_value(index);
                a *= mask;
                b *= mask;
                weight *= mask;
            }
        }
        float sp = 0.0, sq = 0.0, sr = 0.0;
        [[unroll]] for (int k = 0; k < 11; ++k) {
            sp += WINDOW[k] * line_p[line + k];
            sq += WINDOW[k] * line_q[line + k];
            sr += WINDOW[k] * line_r[line + k];
        }
        GATHER(p, sp)
        GATHER(q, sq)
        GATHER(r, sr)
        if (complete) {
            float ssim = p[0] + 2.0 * a * q[0] + b * r[0];
            errors[(row & 1) * 3 * STRIP_WIDTH + int(lane)] = abs(a - b);
            results[(row & 1) * 3 * STRIP_WIDTH + int(lane)] = weight * (u.weights.x * sign(a - b) - u.weights.y * ssim);
        }
    }
}
