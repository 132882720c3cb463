#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: metrics METRICS=1
// SSIM of the rendered image against the ground truth, zero-padded, and the three maps its gradient needs.
//
// Plain variant (training): writes dS/d(blurred x), dS/d(blurred x^2) and dS/d(blurred x y) per channel and the group's
// sums of |x - y| and S. Metrics variant (evaluation): x is clamped to [0, 1]; writes eight sums a group.
// Masked variants multiply x and y by the mask first; masked metrics sum S over pixels that count, and count
// those once a channel.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/window.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint MASKED = 0u;  // 1: photos carry masks

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Image { vec4 image[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Target { uint target[]; };  // packed u8 RGB
#ifdef METRICS
layout(set = 0, binding = 4, std430) writeonly restrict buffer Sums { float sums[]; };    // 8 a group
#else
layout(set = 0, binding = 4, std430) writeonly restrict buffer Sums { vec2 sums[]; };     // L1, SSIM a group
layout(set = 0, binding = 5, std430) writeonly restrict buffer SsimMaps { float ssim_maps[]; };
#endif

layout(push_constant) uniform Push {
    uint swath_begin;  // pixels that rows of this swath begin at
    uint swath_end;    // one past the last
    uint swath_base;   // pixel that bound tensors begin with
    uint target_base;  // the same of the ground truth
    uint map_pixels;   // pixels of a map
};
#include "common/swath.glsl"

shared float tile_x[SIDE * SIDE];
shared float tile_y[SIDE * SIDE];
shared float rows[5 * SIDE * 16];
shared float reduce[64];

#include "common/target.glsl"

float group_sum(float value) {
    uint lane = gl_LocalInvocationIndex;
    barrier();
    reduce[lane] = value;
    barrier();
    for (uint half_size = 32u; half_size > 0u; half_size >>= 1u) {
        if (lane < half_size) {
            reduce[lane] += reduce[lane + half_size];
        }
        barrier();
    }
    return reduce[0];
}

void main() {
    uint group = group_index();
    if (group >= u.tiles_x * u.tiles_y || counters.stalled != 0u) {
        return;
    }
    int lane = int(gl_LocalInvocationIndex);
    ivec2 origin = ivec2(group % u.tiles_x, group / u.tiles_x) * 16;
    ivec2 size = ivec2(u.width, u.height);
    // A thread owns four pixels of a column: what it loads for one blur serves its neighbours too.
    ivec2 first = ivec2(lane & 15, (lane >> 4) * 4);
#ifdef METRICS
    if (!in_swath(uint(origin.y))) {
        return;
    }
#else
    if (!near_swath(uint(origin.y), 16u)) {
        return;
    }
#endif
    float l1 = 0.0, ssim = 0.0;
#ifdef METRICS
    vec3 squared = vec3(0.0);
    float ssim_valid = 0.0;
    float counted = 0.0, counted_valid = 0.0;
#endif
    for (uint channel = 0u; channel < 3u; ++channel) {
        barrier();
        for (int at = lane; at < SIDE * SIDE; at += 64) {
            ivec2 p = origin + ivec2(at % SIDE, at / SIDE) - HALO;
            bool real = p.x >= 0 && p.y >= 0 && p.x < size.x && p.y < size.y;
            uint source = uint(p.y * size.x + p.x);
            float x = real ? image[source - swath_base][channel] : 0.0;
#ifdef METRICS
            x = clamp(x, 0.0, 1.0);
#endif
            float y = real ? target_value(source, channel) : 0.0;
            if (MASKED != 0u) {
                float mask = real ? mask_value(source) : 0.0;
                x *= mask;
                y *= mask;
            }
            tile_x[at] = x;
            tile_y[at] = y;
        }
        barrier();
        // Four neighbouring outputs of a row at a time: 26 rows of four.
        for (int at = lane; at < SIDE * 4; at += 64) {
            int row = at >> 2, column = (at & 3) * 4;
            float x[14], y[14];
            for (int k = 0; k < 14; ++k) {
                x[k] = tile_x[row * SIDE + column + k];
                y[k] = tile_y[row * SIDE + column + k];
            }
            for (int j = 0; j < 4; ++j) {
                float mx = 0.0, my = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
                for (int k = 0; k < 11; ++k) {
                    float w = WINDOW[k];
                    float a = x[j + k], b = y[j + k];
                    mx += w * a;
                    my += w * b;
                    xx += w * a * a;
                    yy += w * b * b;
                    xy += w * a * b;
                }
                int to = row * 16 + column + j;
                rows[to] = mx;
                rows[SIDE * 16 + to] = my;
                rows[2 * SIDE * 16 + to] = xx;
                rows[3 * SIDE * 16 + to] = yy;
                rows[4 * SIDE * 16 + to] = xy;
            }
        }
        barrier();
        float blurred[5][4];
        for (int map = 0; map < 5; ++map) {
            float v[14];
            for (int k = 0; k < 14; ++k) {
                v[k] = rows[map * SIDE * 16 + (first.y + k) * 16 + first.x];
            }
            for (int j = 0; j < 4; ++j) {
                float sum = 0.0;
                for (int k = 0; k < 11; ++k) {
                    sum += WINDOW[k] * v[j + k];
                }
                blurred[map][j] = sum;
            }
        }
        for (int j = 0; j < 4; ++j) {
            ivec2 pixel = origin + first + ivec2(0, j);
            float mx = blurred[0][j], my = blurred[1][j], xx = blurred[2][j], yy = blurred[3][j], xy = blurred[4][j];
            float a1 = 2.0 * mx * my + C1;
            float a2 = 2.0 * (xy - mx * my) + C2;
            float b1 = mx * mx + my * my + C1;
            float b2 = (xx - mx * mx) + (yy - my * my) + C2;
            float inv = 1.0 / (b1 * b2);
            float s = a1 * a2 * inv;
            if (pixel.x < size.x && pixel.y < size.y) {
                int center = (first.y + j + HALO) * SIDE + first.x + HALO;
                float difference = tile_x[center] - tile_y[center];
                l1 += abs(difference);
#ifdef METRICS
                bool inside = pixel.x >= HALO && pixel.y >= HALO && pixel.x < size.x - HALO && pixel.y < size.y - HALO;
                if (MASKED != 0u) {
                    float mask = mask_value(uint(pixel.y * size.x + pixel.x));
                    s *= mask;
                    counted += mask;
                    counted_valid += inside ? mask : 0.0;
                }
                squared[channel] += difference * difference;
                if (inside) {
                    ssim_valid += s;
                }
#endif
                ssim += s;
#ifndef METRICS
                uint at = channel * 3u * map_pixels + uint(pixel.y * size.x + pixel.x) - swath_base;
                ssim_maps[at] = 2.0 * my * (a2 - a1) * inv + 2.0 * mx * s * (1.0 / b2 - 1.0 / b1);
                ssim_maps[at + map_pixels] = -s / b2;
                ssim_maps[at + 2u * map_pixels] = 2.0 * a1 * inv;
#endif
            }
        }
    }
    float total_l1 = group_sum(l1);
    float total_ssim = group_sum(ssim);
#ifdef METRICS
    float r = group_sum(squared.r), g = group_sum(squared.g), b = group_sum(squared.b);
    float valid = group_sum(ssim_valid);
    float n = 0.0, n_valid = 0.0;
    if (MASKED != 0u) {
        n = group_sum(counted);
        n_valid = group_sum(counted_valid);
    }
    if (lane == 0) {
        sums[group * 8u] = total_l1;
        sums[group * 8u + 1u] = total_ssim;
        sums[group * 8u + 2u] = valid;
        sums[group * 8u + 3u] = r;
        sums[group * 8u + 4u] = g;
        sums[group * 8u + 5u] = b;
        sums[group * 8u + 6u] = n;
        sums[group * 8u + 7u] = n_valid;
    }
#else
    if (lane == 0) {
        sums[group] = vec2(total_l1, total_ssim);
    }
#endif
}
