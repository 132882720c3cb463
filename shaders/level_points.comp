#version 450
#extension GL_GOOGLE_include_directive : require
// Where the rays of candidate pixels meet a level of the density of Gaussians, and the outward normal there (SuGaR, Guedon and
// Lepetit 2024, sec. 4.2). The density is the sum of the Gaussians near the one that a pixel shows, each by its opacity; it
// is looked at in 21 places within three standard deviations of that Gaussian along the ray, about the place where it is densest.
// The first place above the level with the one at the near end below it brackets the point, halvings find it.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Hits { uint hits[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Neighbors { uint neighbors[]; };  // of this part's Gaussians
layout(set = 0, binding = 4, std430) readonly restrict buffer Centers { vec4 centers[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer Rotations { vec4 rotations[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer Inverses { vec4 inverses[]; };
layout(set = 0, binding = 7, std430) writeonly restrict buffer Points { float points[]; };  // place, normal; normal 0 = none

layout(push_constant) uniform Push {
    uint candidates;
    uint first_candidate;  // of this batch
    uint batch;            // candidates that there is room for
    uint first;            // id of the part's first Gaussian
    uint count;            // Gaussians of the part
    float level;
    float far;             // depths beyond it are none, world units
};

#include "common/rng.glsl"
#include "common/candidate.glsl"
#include "common/surface.glsl"
#include "common/density.glsl"

const uint NONE = 0xffffffffu;
const uint NEAR = 16u;       // neighbours that make the density
const uint PLACES = 21u;
const float REACH = 3.0;     // standard deviations
const uint HALVINGS = 12u;

// Of each neighbour: where along the ray it is densest, how fast its exponent grows from there, the exponent there, opacity.
vec4 along[NEAR];

float density(float t) {
    float sum = 0.0;
    for (uint j = 0u; j < NEAR; ++j) {
        float off = t - along[j].x;
        sum += along[j].w * exp(-0.5 * min(along[j].y * off * off + along[j].z, MOST_EXPONENT));
    }
    return sum;
}

vec4 along_ray(uint id, vec3 origin, vec3 direction) {
    vec4 center = centers[id];
    vec3 v = whitened(rotations[id], inverses[id].xyz, direction);
    vec3 from = whitened(rotations[id], inverses[id].xyz, origin - center.xyz);
    float growth = dot(v, v);
    float densest = growth > 0.0 ? -dot(from, v) / growth : 0.0;
    vec3 off = from + densest * v;
    return vec4(densest, growth, dot(off, off), center.w);
}

void store(uint at, vec3 place, vec3 normal) {
    for (uint axis = 0u; axis < 3u; ++axis) {
        points[6u * at + axis] = place[axis];
        points[6u * at + 3u + axis] = normal[axis];
    }
}

void main() {
    uint at = group_index() * 64u + gl_LocalInvocationIndex;
    uint pixel;
    if (counters.stalled != 0u || at >= batch || !candidate_pixel(first_candidate + at, candidates, pixel)) {
        return;
    }
    uint hit = hits[first_candidate + at];
    if (hit == NONE || hit - first >= count) {
        return;
    }
    vec3 ray = pixel_ray(vec2(pixel % u.width, pixel / u.width));
    vec3 direction = normalize(ray.x * u.view_row0.xyz + ray.y * u.view_row1.xyz + ray.z * u.view_row2.xyz);
    // Places are counted from the densest one of the hit, so that their numbers are as small as the Gaussians around.
    vec4 own = along_ray(hit, u.camera_position.xyz, direction);
    vec3 origin = u.camera_position.xyz + own.x * direction;
    for (uint j = 0u; j < NEAR; ++j) {
        uint id = neighbors[NEAR * (hit - first) + j];
        along[j] = id == NONE ? vec4(0.0) : along_ray(id, origin, direction);
    }
    float deviation = length(unrotated(rotations[hit], direction) / inverses[hit].xyz);
    float reach = REACH * deviation;
    float low = -reach, high = reach;
    if (!(density(low) < level)) {
        return;
    }
    uint place = 1u;
    for (; place < PLACES; ++place) {
        high = reach * (float(2u * place) / float(PLACES - 1u) - 1.0);
        if (density(high) > level) {
            break;
        }
        low = high;
    }
    if (place == PLACES) {
        return;
    }
    for (uint halving = 0u; halving < HALVINGS; ++halving) {
        float middle = 0.5 * (low + high);
        if (density(middle) > level) {
            high = middle;
        } else {
            low = middle;
        }
    }
    vec3 point = origin + high * direction;
    vec3 slope = vec3(0.0);
    for (uint j = 0u; j < NEAR; ++j) {
        uint id = neighbors[NEAR * (hit - first) + j];
        if (id != NONE) {
            vec4 center = centers[id];
            vec3 v = whitened(rotations[id], inverses[id].xyz, point - center.xyz);
            float weight = center.w * exp(-0.5 * min(dot(v, v), MOST_EXPONENT));
            slope += weight * rotated(rotations[id], inverses[id].xyz * v);
        }
    }
    float size = length(slope);
    float depth = dot(u.view_row2.xyz, point) + u.view_row2.w;
    if (size > 0.0 && depth > 0.0 && depth <= far) {
        store(at, point, slope / size);
    }
}
