#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: sdf SDF=1
// What SuGaR's terms are at each sample and want of it (Guedon and Lepetit 2024, sec. 4.1). A sample p of Gaussian g lies 1.5
// of its standard deviations from its centre, normally distributed; the density is d = sum a_j e^(-q_j / 2) over the neighbours
// j of g, beta the mean of their least deviations.
//
// Plain variant: |d - e^(-f^2 / (2 beta^2))| with f = (p - mu_g) . n_g. `sdf`: min(| beta sqrt(-2 ln(d / 16)) - |D(p) - z(p)| | / (E / 10),
// 10 E), D the view's depth map, for Gaussians whose centre lies within two deviations of it. And |n_g - sum w_j n_j|^2 with the
// normals of the neighbours turned to that of g, where only normals have a gradient.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Owners { uint owners[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Neighbors { uint neighbors[]; };  // of this part's Gaussians
layout(set = 0, binding = 4, std430) readonly restrict buffer Centers { vec4 centers[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer Rotations { vec4 rotations[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer Inverses { vec4 inverses[]; };
layout(set = 0, binding = 7, std430) writeonly restrict buffer SamplePlace { vec4 sample_place[]; };    // p; gradient by d
layout(set = 0, binding = 8, std430) writeonly restrict buffer SamplePull { vec4 sample_pull[]; };      // gradient by p; by a least deviation of a neighbour
layout(set = 0, binding = 9, std430) writeonly restrict buffer SampleNormal { vec4 sample_normal[]; };  // gradient by n_g; 1 / sum of weights
layout(set = 0, binding = 10, std430) writeonly restrict buffer SampleValue { vec4 sample_value[]; };   // gradient by the log of the own least deviation; terms; 1 where there is a sample
#ifdef SDF
layout(set = 0, binding = 11, std430) readonly restrict buffer SurfaceDepth { vec2 surface_depth[]; };
layout(set = 0, binding = 12, std430) readonly restrict buffer Image { vec4 image[]; };
layout(set = 0, binding = 13, std430) readonly restrict buffer Farthest { uint farthest[]; };
#endif

layout(push_constant) uniform Push {
    uint samples;
    uint first;  // id of the part's first Gaussian
    uint count;  // Gaussians of the part
    uint k;      // neighbours of each
    float weight;
    float normal_weight;
    float extent;  // of the scene, world units
};

#include "common/rng.glsl"
#include "common/density.glsl"
#include "common/density_terms.glsl"

const uint NONE = 0xffffffffu;
const uint CHANNEL_SAMPLE = 13u;  // and the next two
const float SPREAD = 1.5;         // of samples, standard deviations

#ifdef SDF
// Depth of a pixel, blended over the farthest one.
float depth_of(ivec2 pixel) {
    uint at = uint(pixel.y) * u.width + uint(pixel.x);
    return surface_depth[at].y + image[at].w * uintBitsToFloat(farthest[0]);
}

// Depth of the map where a place is seen, and how it changes with the place; false outside of the picture.
bool map_depth(vec3 place, out float z, out float depth, out vec3 slope) {
    vec3 t = vec3(dot(u.view_row0.xyz, place) + u.view_row0.w, dot(u.view_row1.xyz, place) + u.view_row1.w,
                  dot(u.view_row2.xyz, place) + u.view_row2.w);
    z = t.z;
    depth = 0.0;
    slope = vec3(0.0);
    if (!(t.z > u.near_z)) {
        return false;
    }
    vec2 pixel = u.intrinsics.xy * t.xy / t.z + u.intrinsics.zw;
    vec2 last = vec2(u.width, u.height) - 1.0;
    if (!(pixel.x >= 0.0 && pixel.y >= 0.0 && pixel.x <= last.x && pixel.y <= last.y)) {
        return false;
    }
    ivec2 low = ivec2(min(floor(pixel), max(last - 1.0, vec2(0.0))));
    ivec2 high = min(low + 1, ivec2(last));
    vec2 part = pixel - vec2(low);
    float d00 = depth_of(low), d10 = depth_of(ivec2(high.x, low.y));
    float d01 = depth_of(ivec2(low.x, high.y)), d11 = depth_of(high);
    depth = mix(mix(d00, d10, part.x), mix(d01, d11, part.x), part.y);
    float across = mix(d10 - d00, d11 - d01, part.y);
    float down = mix(d01 - d00, d11 - d10, part.x);
    vec2 by_t = u.intrinsics.xy / t.z * vec2(across, down);
    float by_z = -dot(by_t, t.xy) / t.z;
    slope = u.view_row0.xyz * by_t.x + u.view_row1.xyz * by_t.y + u.view_row2.xyz * by_z;
    return true;
}
#endif

void store(uint s, vec4 place, vec4 pull, vec4 normal, vec4 value) {
    sample_place[s] = place;
    sample_pull[s] = pull;
    sample_normal[s] = normal;
    sample_value[s] = value;
}

void main() {
    uint s = group_index() * 64u + gl_LocalInvocationIndex;
    if (counters.stalled != 0u || (u.flags & FLAG_DENSITY) == 0u || s >= samples) {
        return;
    }
    if (counters.visible == 0u) {
        store(s, vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0));
        return;
    }
    uint g = owners[s];
    if (g - first >= count) {
        return;
    }
    vec4 own_rotation = rotations[g];
    vec3 own_inverse = inverses[g].xyz;
    vec3 own_center = centers[g].xyz;
    vec3 draw = vec3(rng_normal(u.seed, u.iteration, s, CHANNEL_SAMPLE), rng_normal(u.seed, u.iteration, s, CHANNEL_SAMPLE + 1u),
                     rng_normal(u.seed, u.iteration, s, CHANNEL_SAMPLE + 2u));
    vec3 local = SPREAD * draw / own_inverse;
    vec3 place = own_center + rotated(own_rotation, local);
    uint thin = thin_axis(own_inverse);
    vec3 normal = axis_of(own_rotation, thin);

    float density = 0.0, least = 0.0, weights = 0.0;
    uint found = 0u;
    vec3 slope = vec3(0.0), around = vec3(0.0);
    for (uint j = 0u; j < k; ++j) {
        uint id = neighbors[k * (g - first) + j];
        if (id == NONE) {
            break;
        }
        Share share = share_of(centers[id], rotations[id], inverses[id].xyz, place);
        density += share.amount;
        slope -= share.amount * share.steep;
        least += share.least;
        found += 1u;
        weights += share.weight;
        around += (dot(share.normal, normal) < 0.0 ? -share.weight : share.weight) * share.normal;
    }
    float beta = least / float(found);
    float inverse_weights = 1.0 / max(weights, LEAST_WEIGHT);
    vec3 apart = normal - inverse_weights * around;

    float by_density, by_beta, by_thin = 0.0, term;
    vec3 pull;
#ifdef SDF
    float z, depth, own_z, own_depth;
    vec3 map_slope, own_slope;
    bool seen = map_depth(own_center, own_z, own_depth, own_slope);
    vec3 sight = normalize(own_center - u.camera_position.xyz);
    float deviation = length(unrotated(own_rotation, sight) / own_inverse);
    seen = seen && abs(own_z - own_depth) <= 2.0 * deviation;
    if (!seen || !map_depth(place, z, depth, map_slope)) {
        store(s, vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0));
        return;
    }
    float scaled = clamp(density / 16.0, 1e-16, 1.0);
    float root = sqrt(-2.0 * log(scaled));
    float behind = depth - z;
    float off = beta * root - abs(behind);
    float unit = 10.0 / extent;
    term = min(abs(off) * unit, 10.0 * extent);
    float by_off = abs(off) * unit < 10.0 * extent ? weight * unit * sign(off) : 0.0;
    bool free = density / 16.0 > 1e-16 && density / 16.0 < 1.0 && root > 0.0;
    by_density = free ? -by_off * beta / (density * root) : 0.0;
    by_beta = by_off * root;
    pull = -by_off * sign(behind) * (map_slope - u.view_row2.xyz);
#else
    float f = local[thin];
    float ratio = f / beta;
    float target = exp(-0.5 * ratio * ratio);
    float off = density - target;
    term = abs(off);
    by_density = weight * sign(off);
    by_beta = -by_density * target * ratio * ratio / beta;
    // f is the least deviation times what was drawn, so its part in it is by the log.
    by_thin = by_density * target * ratio * ratio;
    pull = vec3(0.0);
#endif
    pull += by_density * slope;
    store(s, vec4(place, by_density), vec4(pull, by_beta / float(found)),
          vec4(2.0 * normal_weight * apart, inverse_weights), vec4(by_thin, term, dot(apart, apart), 1.0));
}
