#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: reduce REDUCE=1
// Agreement of renders and depth maps: mean over all pixels of  t rho(1 / (u z) - m)  with the depth z where the ray meets the
// blended plane, the map's inverse depth m in the photo's unit u, and how far the map is trusted t, 0 to 1. rho(r) = c |r| / (c + |r|)
// is |r| near 0 and at most c, so that what a map has wrong pulls the less, the more it is wrong. Pixels without z or m have none.
//
// Plain variant, a tile a group: the tile's sum, and the gradient by the pixel's blended normal N and distance D, of which
// z = D / (-N . r). It adds to that of `plane_gather`, or stands alone. `reduce`, one group: adds the sums in a fixed order and the
// weighted mean to the loss. The weight falls from step to step by a constant factor, and is 0 before
// the loss begins, where steps look at surfaces for another. Pixels that the photo's mask leaves out have
// none.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(push_constant) uniform Push {
    float start_weight;  // weight at iteration 0
    float decay;  // logarithm of what it is multiplied with in a step
    uint from;  // first step with a weight
    uint alone;  // 1 where no other loss has written gradients of planes
};

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
#ifdef REDUCE
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer DepthSums { float depth_sums[]; };
#else
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Target { uint target[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer SurfacePlane { vec4 surface_plane[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer DepthMap { vec4 depth_map[]; };
layout(set = 0, binding = 5, std430) restrict buffer SurfaceGradient { vec4 surface_gradient[]; };  // by N; by D
layout(set = 0, binding = 6, std430) writeonly restrict buffer DepthSums { float depth_sums[]; };
#include "common/surface.glsl"

layout(constant_id = 0) const uint MASKED = 0u;  // 1: photos carry masks
const uint target_base = 0u;
#include "common/target.glsl"

// Where rho has half of its largest value, in units of inverse depth.
const float CUT = 0.25;
// A word of a map: inverse depth in 1/4096 of the photo's unit, and trust.
const float STEP = 1.0 / 4096.0;
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
        sum += depth_sums[k];
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
        bool counts = true;
        if (MASKED != 0u) {
            words += (pixels + 3u) / 4u;
            counts = mask_value(at) == 1.0;
        }
        vec4 gradient = alone != 0u ? vec4(0.0) : surface_gradient[at];
        uint word = target[words + 1u + at];
        float z = depth_map[at].x;
        if (word != 0u && z > 0.0 && counts) {
            float unit = uintBitsToFloat(target[words]);
            float trust = float(word >> 16) / 255.0;
            float off = 1.0 / (unit * z) - float(word & 0xffffu) * STEP;
            float steep = CUT / (CUT + abs(off));
            value = trust * abs(off) * steep;
            // d rho / d r = +-(c / (c + |r|))^2, d r / d z = -1 / (u z^2)
            float by_depth = -3.0 * u.weights.z * weight() * trust * sign(off) * steep * steep / (unit * z * z);
            vec3 ray = pixel_ray(vec2(pixel));
            vec4 plane = surface_plane[at];
            float slope = -dot(plane.xyz, ray);
            gradient += vec4((by_depth * plane.w / (slope * slope)) * ray, by_depth / slope);
        }
        surface_gradient[at] = gradient;
    }
    value = group_sum(value);
    if (lane == 0u) {
        depth_sums[tile] = value;
    }
#endif
}
