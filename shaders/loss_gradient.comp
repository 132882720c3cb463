#version 450
#extension GL_GOOGLE_include_directive : require
// Gradient of  w1 L1 + w2 (1 - SSIM)  with respect to the rendered image.
//
// dS/dx = w * p + 2 x (w * q) + y (w * r) with the window w and the maps p, q, r of `ssim_maps`. The masked variant has
// x = mask * image and y = mask * target, and by the chain rule the mask as a factor of the result.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/window.glsl"

layout(local_size_x = 64) in;
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

shared float tile[3 * SIDE * SIDE];
shared float rows[3 * SIDE * 16];

#include "common/target.glsl"

void main() {
    uint group = group_index();
    if (group >= u.tiles_x * u.tiles_y || counters.stalled != 0u) {
        return;
    }
    int lane = int(gl_LocalInvocationIndex);
    ivec2 origin = ivec2(group % u.tiles_x, group / u.tiles_x) * 16;
    ivec2 size = ivec2(u.width, u.height);
    // A thread owns four pixels of a column, as in `ssim_maps`.
    ivec2 first = ivec2(lane & 15, (lane >> 4) * 4);
    if (!in_swath(uint(origin.y))) {
        return;
    }
    vec3 gradient[4] = vec3[4](vec3(0.0), vec3(0.0), vec3(0.0), vec3(0.0));
    float error[4] = float[4](0.0, 0.0, 0.0, 0.0);
    for (uint channel = 0u; channel < 3u; ++channel) {
        barrier();
        for (int at = lane; at < SIDE * SIDE; at += 64) {
            ivec2 p = origin + ivec2(at % SIDE, at / SIDE) - HALO;
            bool real = p.x >= 0 && p.y >= 0 && p.x < size.x && p.y < size.y;
            uint source = channel * 3u * map_pixels + uint(p.y * size.x + p.x) - swath_base;
            tile[at] = real ? ssim_maps[source] : 0.0;
            tile[SIDE * SIDE + at] = real ? ssim_maps[source + map_pixels] : 0.0;
            tile[2 * SIDE * SIDE + at] = real ? ssim_maps[source + 2u * map_pixels] : 0.0;
        }
        barrier();
        for (int at = lane; at < 3 * SIDE * 4; at += 64) {
            int row = at >> 2, column = (at & 3) * 4;  // rows of all three maps, 26 each
            int from = row / SIDE * SIDE * SIDE + row % SIDE * SIDE + column;
            float v[14];
            for (int k = 0; k < 14; ++k) {
                v[k] = tile[from + k];
            }
            for (int j = 0; j < 4; ++j) {
                float sum = 0.0;
                for (int k = 0; k < 11; ++k) {
                    sum += WINDOW[k] * v[j + k];
                }
                rows[row * 16 + column + j] = sum;
            }
        }
        barrier();
        float blurred[3][4];
        for (int map = 0; map < 3; ++map) {
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
            if (pixel.x < size.x && pixel.y < size.y) {
                uint index = uint(pixel.y * size.x + pixel.x);
                float x = image[index - swath_base][channel];
                float y = target_value(index, channel);
                float mask = 1.0;
                if (MASKED != 0u) {
                    mask = mask_value(index);
                    x *= mask;
                    y *= mask;
                }
                float ssim = blurred[0][j] + 2.0 * x * blurred[1][j] + y * blurred[2][j];
                error[j] += abs(x - y) / 3.0;
                gradient[j][channel] = u.weights.z * (u.weights.x * sign(x - y) - u.weights.y * ssim);
                if (MASKED != 0u) {
                    gradient[j][channel] *= mask;
                }
            }
        }
    }
    for (int j = 0; j < 4; ++j) {
        ivec2 pixel = origin + first + ivec2(0, j);
        if (pixel.x < size.x && pixel.y < size.y) {
            image_gradient[uint(pixel.y * size.x + pixel.x) - swath_base] = vec4(gradient[j], error[j]);
        }
    }
}
