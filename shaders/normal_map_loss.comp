#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: reduce REDUCE=1
// Agreement of renders and normal maps: mean over all pixels of  t (1 - N . m / |N|)  with the pixel's blended normal N, the map's
// normal m, of length 1, and how far the map is trusted t, 0 to 1. Pixels that block no more than half the light have none, and
// neither have those whose normals cancel out.
//
// Plain variant, a tile a group: the tile's sum, and the gradient by N,  -t (m - (n . m) n) / |N|  with n = N / |N|. It adds to that
// of losses before it, or stands alone. `reduce`, one group: adds the sums in a fixed order and the weighted mean to the
// loss. The weight falls from step to step by a constant factor, and is 0 before the loss begins, where
// steps look at surfaces for another. Pixels that the photo's mask leaves out have none.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(push_constant) uniform Push {
    float start_weight;  // weight at iteration 0
    float decay;  // logarithm of what it is multiplied with in a step
    uint from;  // first step with a weight
    uint alone;  // 1 where no other loss has written gradients of planes
    uint behind_depths;  // 1 where words of depth lie before those of normals
};

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
#ifdef REDUCE
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer NormalSums { float normal_sums[]; };
#else
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Target { uint target[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Image { vec4 image[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer SurfacePlane { vec4 surface_plane[]; };
layout(set = 0, binding = 5, std430) restrict buffer SurfaceGradient { vec4 surface_gradient[]; };  // by N; by D
layout(set = 0, binding = 6, std430) writeonly restrict buffer NormalSums { float normal_sums[]; };
#include "common/surface.glsl"

layout(constant_id = 0) const uint MASKED = 0u;  // 1: photos carry masks
const uint target_base = 0u;
#include "common/target.glsl"

// Blended normals that are shorter say nothing of a surface.
const float LEAST_NORMAL = 0.1;
#endif

#include "common/map_loss.glsl"

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint tiles = u.tiles_x * u.tiles_y;
#ifdef REDUCE
    if (counters.stalled != 0u) {
        return;
    }
    float sum = 0.0;
    for (uint k = lane; k < tiles; k += 256u) {
        sum += normal_sums[k];
    }
    sum = group_sum(sum);
    if (lane == 0u) {
        counters.loss += weight() * 3.0 * u.weights.z * sum;
    }
#else
    uint tile = group_index();
    if (tile >= tiles || counters.stalled != 0u) {
        return;
    }
    uvec2 pixel = uvec2(tile % u.tiles_x, tile / u.tiles_x) * 16u + uvec2(lane & 15u, lane >> 4);
    float value = 0.0;
    if (pixel.x < u.width && pixel.y < u.height) {
        uint at = pixel.y * u.width + pixel.x;
        uint pixels = u.width * u.height;
        uint words = u.image_offset + (3u * pixels + 3u) / 4u;
        bool counts = 1.0 - image[at].w > LEAST_COVERAGE;
        if (MASKED != 0u) {
            words += (pixels + 3u) / 4u;
            counts = counts && mask_value(at) == 1.0;
        }
        words += behind_depths != 0u ? pixels + 1u : 0u;
        vec4 gradient = alone != 0u ? vec4(0.0) : surface_gradient[at];
        uint word = target[words + at];
        vec3 blended = surface_plane[at].xyz;
        float size = length(blended);
        if (word != 0u && counts && size > LEAST_NORMAL) {
            int bits = int(word);
            vec3 mapped = normalize(vec3(bitfieldExtract(bits, 0, 8), bitfieldExtract(bits, 8, 8), bitfieldExtract(bits, 16, 8)));
            float trust = float(word >> 24) / 255.0;
            vec3 n = blended / size;
            float along = dot(n, mapped);
            value = trust * (1.0 - along);
            gradient.xyz -= (3.0 * u.weights.z * weight() * trust / size) * (mapped - along * n);
        }
        surface_gradient[at] = gradient;
    }
    value = group_sum(value);
    if (lane == 0u) {
        normal_sums[tile] = value;
    }
#endif
}
