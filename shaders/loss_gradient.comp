#version 450
#extension GL_GOOGLE_include_directive : require
// Gradient of  w1 L1 + w2 (1 - SSIM)  with respect to the rendered image.
//
// dS/dx = w * p + 2 x (w * q) + y (w * r) with the window w and the maps p, q, r of `ssim_maps`.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/window.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Image { vec4 image[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Target { uint target[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer SsimMaps { float ssim_maps[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer ImageGradient { vec4 image_gradient[]; };

shared float tile[3 * SIDE * SIDE];
shared float rows[3 * SIDE * 16];

float target_value(uint pixel, uint channel) {
    uint byte = u.image_offset * 4u + pixel * 3u + channel;
    return float((target[byte >> 2] >> ((byte & 3u) * 8u)) & 0xffu) / 255.0;
}

void main() {
    uint group = group_index();
    if (group >= u.tiles_x * u.tiles_y || counters.stalled != 0u) {
        return;
    }
    int lane = int(gl_LocalInvocationIndex);
    ivec2 origin = ivec2(group % u.tiles_x, group / u.tiles_x) * 16;
    ivec2 size = ivec2(u.width, u.height);
    ivec2 local = ivec2(lane & 15, lane >> 4);
    ivec2 pixel = origin + local;
    bool inside = pixel.x < size.x && pixel.y < size.y;
    uint index = uint(pixel.y * size.x + pixel.x);
    uint pixels = u.width * u.height;
    vec3 gradient = vec3(0.0);
    for (uint channel = 0u; channel < 3u; ++channel) {
        barrier();
        for (int at = lane; at < SIDE * SIDE; at += 256) {
            ivec2 p = origin + ivec2(at % SIDE, at / SIDE) - HALO;
            bool real = p.x >= 0 && p.y >= 0 && p.x < size.x && p.y < size.y;
            uint source = channel * 3u * pixels + uint(p.y * size.x + p.x);
            tile[at] = real ? ssim_maps[source] : 0.0;
            tile[SIDE * SIDE + at] = real ? ssim_maps[source + pixels] : 0.0;
            tile[2 * SIDE * SIDE + at] = real ? ssim_maps[source + 2u * pixels] : 0.0;
        }
        barrier();
        for (int at = lane; at < 3 * SIDE * 16; at += 256) {
            int map = at / (SIDE * 16), rest = at % (SIDE * 16);
            int from = map * SIDE * SIDE + rest / 16 * SIDE + rest % 16;
            float sum = 0.0;
            for (int k = 0; k < 11; ++k) {
                sum += WINDOW[k] * tile[from + k];
            }
            rows[at] = sum;
        }
        barrier();
        if (inside) {
            float p = 0.0, q = 0.0, r = 0.0;
            for (int k = 0; k < 11; ++k) {
                int at = (local.y + k) * 16 + local.x;
                p += WINDOW[k] * rows[at];
                q += WINDOW[k] * rows[SIDE * 16 + at];
                r += WINDOW[k] * rows[2 * SIDE * 16 + at];
            }
            float x = image[index][channel];
            float y = target_value(index, channel);
            float ssim = p + 2.0 * x * q + y * r;
            gradient[channel] = u.weights.z * (u.weights.x * sign(x - y) - u.weights.y * ssim);
        }
    }
    if (inside) {
        image_gradient[index] = vec4(gradient, 0.0);
    }
}
