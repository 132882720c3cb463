#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: reduce REDUCE=1
// Mean absolute difference between the rendered coverage 1 - T and the photo's mask.
//
// Plain variant, one tile a group: writes d loss / d T beside the colour's gradient and the tile's sum. Reduce variant,
// one group: adds the sums in a fixed order and the weighted mean to the loss.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
#ifdef REDUCE
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer AlphaSums { float alpha_sums[]; };
#else
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Image { vec4 image[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Target { uint target[]; };
layout(set = 0, binding = 4, std430) restrict buffer ImageGradient { vec4 image_gradient[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer AlphaSums { float alpha_sums[]; };

layout(push_constant) uniform Push {
    uint swath_begin;  // pixels that rows of this swath begin at
    uint swath_end;    // one past the last
    uint swath_base;   // pixel that bound tensors begin with
    uint target_base;  // the same of the ground truth
};
#include "common/swath.glsl"
#include "common/target.glsl"
#endif

#define SUMMED float
#include "common/group_sum.glsl"

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint tiles = u.tiles_x * u.tiles_y;
    float pixel_share = 3.0 * u.weights.z;  // 1 / pixels
#ifdef REDUCE
    if (counters.stalled != 0u) {
        return;
    }
    float sum = 0.0;
    for (uint k = lane; k < tiles; k += 256u) {
        sum += alpha_sums[k];
    }
    sum = group_sum(sum);
    if (lane == 0u) {
        counters.loss += u.weights.w * pixel_share * sum;
    }
#else
    uint tile = group_index();
    if (tile >= tiles || counters.stalled != 0u) {
        return;
    }
    uvec2 origin = uvec2(tile % u.tiles_x, tile / u.tiles_x) * 16u;
    if (!in_swath(origin.y)) {
        return;
    }
    uvec2 pixel = origin + uvec2(lane & 15u, lane >> 4);
    float difference = 0.0;
    if (pixel.x < u.width && pixel.y < u.height) {
        uint index = pixel.y * u.width + pixel.x;
        difference = (1.0 - image[index - swath_base].a) - mask_value(index);
        image_gradient[index - swath_base].a = -u.weights.w * pixel_share * sign(difference);
    }
    float sum = group_sum(abs(difference));
    if (lane == 0u) {
        alpha_sums[tile] = sum;
    }
#endif
}
