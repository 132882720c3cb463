#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// kiln-like: ssim_maps
// What `ssim_maps` computes in training, for devices with many registers and wide groups: rows of a strip are blurred
// across as they come and gathered downwards, so that no row is blurred twice but those of the halo.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/window.glsl"

layout(local_size_x = 192) in;
layout(constant_id = 0) const uint MASKED = 0u;  // 1: photos carry masks

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Image { vec4 image[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Target { uint target[]; };
layout(set = 0, binding = 4, std430) writeonly restrict buffer Sums { vec2 sums[]; };  // L1, SSIM a strip, else zeros
layout(set = 0, binding = 5, std430) writeonly restrict buffer SsimMaps { float ssim_maps[]; };

layout(push_constant) uniform Push {
    uint swath_begin;  // pixels that rows of this swath begin at
    uint swath_end;    // one past the last
    uint swath_base;   // pixel that bound tensors begin with
    uint target_base;  // the same of the ground truth
    uint map_pixels;   // pixels of a map
};
#include "common/swath.glsl"

#include "common/strip.glsl"

shared vec2 lines[2 * 3 * LINE];  // image and target of two rows, by channel
shared vec2 reduce[192];

#include "common/target.glsl"

// Image and target at a pixel, zero outside.
vec2 pair_at(int x, int y, uint channel) {
    if (x < 0 || y < 0 || x >= int(u.width) || y >= int(u.height)) {
        return vec2(0.0);
    }
    uint index = uint(y) * u.width + uint(x);
    vec2 pair = vec2(image[index - swath_base][channel], target_value(index, channel));
    if (MASKED != 0u) {
        pair *= mask_value(index);
    }
    return pair;
}

void main() {
    uint group = group_index();
    if (group >= u.tiles_x * u.tiles_y || counters.stalled != 0u) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    if (group >= strip_count()) {
        // `loss_reduce` adds up one pair a tile.
        if (lane == 0u) {
            sums[group] = vec2(0.0);
        }
        return;
    }
    Strip strip = strip_at(group);
    if (!near_swath(uint(strip.origin.y), uint(strip_rows()))) {
        return;
    }
    uint channel = lane / uint(STRIP_WIDTH);
    int column = int(lane) % STRIP_WIDTH;
    int x = strip.origin.x + column;
    int top = strip.origin.y - HALO;
    bool wide = column < 2 * HALO;
    float mx[11], my[11], xx[11], yy[11], xy[11];
    [[unroll]] for (int k = 0; k < 11; ++k) {
        mx[k] = my[k] = xx[k] = yy[k] = xy[k] = 0.0;
    }
    float l1 = 0.0, ssim = 0.0;
    // The next row is on its way while one is blurred.
    vec2 next = pair_at(x - HALO, top, channel);
    vec2 next_right = wide ? pair_at(x - HALO + STRIP_WIDTH, top, channel) : vec2(0.0);
    for (int row = 0; row < strip.rows + 2 * HALO; ++row) {
        int line = ((row & 1) * 3 + int(channel)) * LINE + column;
        lines[line] = next;
        if (wide) {
            lines[line + STRIP_WIDTH] = next_right;
        }
        barrier();
        next = pair_at(x - HALO, top + row + 1, channel);
        next_right = wide ? pair_at(x - HALO + STRIP_WIDTH, top + row + 1, channel) : vec2(0.0);
        float sx = 0.0, sy = 0.0, sxx = 0.0, syy = 0.0, sxy = 0.0;
        [[unroll]] for (int k = 0; k < 11; ++k) {
            vec2 pair = lines[line + k];
            vec2 weighted = WINDOW[k] * pair;
            sx += weighted.x;
            sy += weighted.y;
            sxx += weighted.x * pair.x;
            syy += weighted.y * pair.y;
            sxy += weighted.x * pair.y;
            if (k == HALO && row >= HALO && row < strip.rows + HALO && x < int(u.width)) {
                l1 += abs(pair.x - pair.y);
            }
        }
        GATHER(mx, sx)
        GATHER(my, sy)
        GATHER(xx, sxx)
        GATHER(yy, syy)
        GATHER(xy, sxy)
        if (row >= 2 * HALO && x < int(u.width)) {
            float a1 = 2.0 * mx[0] * my[0] + C1;
            float a2 = 2.0 * (xy[0] - mx[0] * my[0]) + C2;
            float b1 = mx[0] * mx[0] + my[0] * my[0] + C1;
            float b2 = (xx[0] - mx[0] * mx[0]) + (yy[0] - my[0] * my[0]) + C2;
            float inv = 1.0 / (b1 * b2);
            float s = a1 * a2 * inv;
            ssim += s;
            uint at = channel * 3u * map_pixels + uint(top + row - HALO) * u.width + uint(x) - swath_base;
            ssim_maps[at] = 2.0 * my[0] * (a2 - a1) * inv + 2.0 * mx[0] * s * (1.0 / b2 - 1.0 / b1);
            ssim_maps[at + map_pixels] = -s / b2;
            ssim_maps[at + 2u * map_pixels] = 2.0 * a1 * inv;
        }
    }
    reduce[lane] = vec2(l1, ssim);
    barrier();
    for (uint part = 96u; part >= 3u; part >>= 1u) {
        if (lane < part) {
            reduce[lane] += reduce[lane + part];
        }
        barrier();
    }
    if (lane == 0u) {
        sums[group] = reduce[0] + reduce[1] + reduce[2];
    }
}
