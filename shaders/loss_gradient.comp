#version 450
#extension GL_GOOGLE_include_directive : require
// Gradient of  w1 L1 + w2 (1 - SSIM)  with respect to the rendered image.
//
// dS/dx = w * p + 2 x (w * q) + y (w * r) with the window w and the maps p, q, r of `ssim_maps`.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/window.glsl"
#include "common/rng.glsl"

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Image { vec4 image[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Target { uint target[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer SsimMaps { float ssim_maps[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer ImageGradient { vec4 image_gradient[]; };

shared float tile[3 * SIDE * SIDE];
shared float rows[3 * SIDE * 16];

#include "common/jitter.glsl"
#include "common/target.glsl"

// Four pixels of a column, from the blurred rows of a map.
vec4 blur_column(int map, ivec2 first) {
    int from = map * SIDE * 16 + first.y * 16 + first.x;
    vec4 sum = vec4(0.0);
#define ADD_ROW(K) sum += WINDOW_AT(K) * rows[from + K * 16];
    EACH_INPUT(ADD_ROW)
    return sum;
}

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
    uint pixels = u.width * u.height;
    vec3 gradient[4] = vec3[4](vec3(0.0), vec3(0.0), vec3(0.0), vec3(0.0));
    for (uint channel = 0u; channel < 3u; ++channel) {
        barrier();
        for (int at = lane; at < SIDE * SIDE; at += 64) {
            ivec2 p = origin + ivec2(at % SIDE, at / SIDE) - HALO;
            bool real = p.x >= 0 && p.y >= 0 && p.x < size.x && p.y < size.y;
            uint source = channel * 3u * pixels + uint(p.y * size.x + p.x);
            tile[at] = real ? ssim_maps[source] : 0.0;
            tile[SIDE * SIDE + at] = real ? ssim_maps[source + pixels] : 0.0;
            tile[2 * SIDE * SIDE + at] = real ? ssim_maps[source + 2u * pixels] : 0.0;
        }
        barrier();
        for (int at = lane; at < 3 * SIDE * 4; at += 64) {
            int row = at >> 2, column = (at & 3) * 4;  // rows of all three maps, 26 each
            int from = row / SIDE * SIDE * SIDE + row % SIDE * SIDE + column;
            vec4 sum = vec4(0.0);
#define ADD_COLUMN(K) sum += WINDOW_AT(K) * tile[from + K];
            EACH_INPUT(ADD_COLUMN)
            for (int j = 0; j < 4; ++j) {
                rows[row * 16 + column + j] = sum[j];
            }
        }
        barrier();
        vec4 p = blur_column(0, first), q = blur_column(1, first), r = blur_column(2, first);
        for (int j = 0; j < 4; ++j) {
            ivec2 pixel = origin + first + ivec2(0, j);
            if (pixel.x < size.x && pixel.y < size.y) {
                uint index = uint(pixel.y * size.x + pixel.x);
                float x = image[index][channel];
                float y = target_sample(pixel, channel);
                float ssim = p[j] + 2.0 * x * q[j] + y * r[j];
                gradient[j][channel] = u.weights.z * (u.weights.x * sign(x - y) - u.weights.y * ssim);
            }
        }
    }
    for (int j = 0; j < 4; ++j) {
        ivec2 pixel = origin + first + ivec2(0, j);
        if (pixel.x < size.x && pixel.y < size.y) {
            image_gradient[pixel.y * size.x + pixel.x] = vec4(gradient[j], 0.0);
        }
    }
}
