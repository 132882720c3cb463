#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: gradient GRADIENT=1
// kiln-variant: gradient_surface GRADIENT=1 SURFACE=1
// kiln-variant: update UPDATE=1
// Correction of the step's camera, learnt for each view: W' = exp(w) W and t' = exp(w) t + s, in camera axes.
//
// Plain variant, one thread: puts the corrected camera into the uniforms. Gradient variants, 256 Gaussians of a chunk a group:
// sums of the derivatives by a small turn and a small shift of the camera, over the visible ones. Update variant, one group:
// adds the groups in a fixed order, takes the sums on to w and s and makes an Adam step (Kingma and Ba 2015) towards less loss.
//
// Derivatives go through where a Gaussian is drawn and in what shape, and not through the direction that its colour is seen
// from.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/planes.glsl"

// Of a view: turn w, radians; shift s, extents; first moments; second moments; number of steps; unused.
const uint POSE_WORDS = 20u;  // words per view: the correction, two moments, the number of steps, and one unused
const float POSE_HOLD = 0.01;  // weight in the loss of half a correction's squared length, in radians and extents
const uint POSE_SUMS = 6u;    // sums per 256 Gaussians: derivatives by a turn about the camera and by a shift

#if defined(GRADIENT)

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint LENS = 0u;  // 1: some cameras have one

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Filter3d { float filter_3d[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer VisibleMask { uint visible_mask[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer GroupVisible { uint group_visible[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer GradientA { vec4 gradient_a[]; };
layout(set = 0, binding = 7, std430) readonly restrict buffer GradientB { vec4 gradient_b[]; };
layout(set = 0, binding = 8, std430) writeonly restrict buffer PoseSums { float pose_sums[]; };
#ifdef SURFACE
layout(set = 0, binding = 9, std430) readonly restrict buffer GradientD { vec4 gradient_d[]; };
#endif

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    uint first_group;
};
#define STRIDE stride

#include "common/gaussian.glsl"
#include "common/projection.glsl"
#include "common/plane.glsl"
#include "common/camera_backward.glsl"

shared vec3 turns[256];
shared vec3 shifts[256];

bool bad(float x) {
    return (floatBitsToUint(x) & 0x7f800000u) == 0x7f800000u;
}

void gather(uint group, uint lane, uint i) {
    uint word = visible_mask[group * 8u + (lane >> 5)];
    if ((word & (1u << (lane & 31u))) == 0u) {
        return;
    }
    uint v = group_visible[first_group + group] + uint(bitCount(word & ((1u << (lane & 31u)) - 1u)));
    for (uint w = 0u; w < (lane >> 5); ++w) {
        v += uint(bitCount(visible_mask[group * 8u + w]));
    }
    vec4 a = gradient_a[v];
    vec4 b = gradient_b[v];
    Gaussian g = load_gaussian(i);
    Projection p = project(g);
#ifdef SURFACE
    CameraGradient c = camera_backward(g, p, a.xy, b.xyz, a.z, gradient_d[v]);
#else
    CameraGradient c = camera_backward(g, p, a.xy, b.xyz, a.z);
#endif
    vec3 w0 = u.view_row0.xyz, w1 = u.view_row1.xyz, w2 = u.view_row2.xyz;
    vec3 turn = cross(p.t, c.t) + vec3(dot(w1, c.turn_2) - dot(w2, c.turn_1), dot(w2, c.turn_0) - dot(w0, c.turn_2),
                                       dot(w0, c.turn_1) - dot(w1, c.turn_0));
    // What the model's update passes by moves no camera either.
    if (!bad(dot(turn, turn) + dot(c.t, c.t))) {
        turns[lane] = turn;
        shifts[lane] = c.t;
    }
}

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint i = group * 256u + lane;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled != 0u || group * 256u >= count) {
        return;
    }
    turns[lane] = vec3(0.0);
    shifts[lane] = vec3(0.0);
    if (i < count) {
        gather(group, lane, i);
    }
    barrier();
    for (uint half_size = 128u; half_size > 0u; half_size >>= 1u) {
        if (lane < half_size) {
            turns[lane] += turns[lane + half_size];
            shifts[lane] += shifts[lane + half_size];
        }
        barrier();
    }
    if (lane < POSE_SUMS) {
        pose_sums[POSE_SUMS * (first / 256u + group) + lane] = lane < 3u ? turns[0][lane] : shifts[0][lane - 3u];
    }
}

#else

// sin(x) / x, (1 - cos(x)) / x^2 and (x - sin(x)) / x^3 of a squared angle.
vec3 turn_factors(float squared) {
    if (squared < 1e-2) {
        return vec3(1.0 - squared / 6.0 * (1.0 - squared / 20.0), 0.5 - squared / 24.0 * (1.0 - squared / 30.0),
                    (1.0 - squared / 20.0 * (1.0 - squared / 42.0)) / 6.0);
    }
    float angle = sqrt(squared);
    float root = sin(0.5 * angle);
    return vec3(sin(angle) / angle, 2.0 * root * root / squared, (angle - sin(angle)) / (squared * angle));
}

#ifdef UPDATE

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) restrict buffer Poses { float poses[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer PoseSums { float pose_sums[]; };

shared vec3 turns[256];
shared vec3 shifts[256];

void main() {
    if (counters.stalled != 0u || (u.flags & FLAG_POSES) == 0u || u.pose_rate == 0.0) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    uint groups = (counters.gaussians + 255u) / 256u;
    vec3 turn = vec3(0.0), shift = vec3(0.0);
    for (uint group = lane; group < groups; group += 256u) {
        uint at = POSE_SUMS * group;
        turn += vec3(pose_sums[at], pose_sums[at + 1u], pose_sums[at + 2u]);
        shift += vec3(pose_sums[at + 3u], pose_sums[at + 4u], pose_sums[at + 5u]);
    }
    turns[lane] = turn;
    shifts[lane] = shift;
    barrier();
    for (uint half_size = 128u; half_size > 0u; half_size >>= 1u) {
        if (lane < half_size) {
            turns[lane] += turns[lane + half_size];
            shifts[lane] += shifts[lane + half_size];
        }
        barrier();
    }
    if (lane != 0u) {
        return;
    }
    uint base = u.view * POSE_WORDS;
    vec3 w = vec3(poses[base], poses[base + 1u], poses[base + 2u]);
    vec3 s = u.pose_extent * vec3(poses[base + 3u], poses[base + 4u], poses[base + 5u]);
    // The turn of the sums is about the camera as it is now. That of w goes first and leaves s as it is, and turns of a
    // w that is not 0 add up by the transposed left Jacobian of the rotation group.
    vec3 about = turns[0] - cross(s, shifts[0]);
    vec3 factors = turn_factors(dot(w, w));
    vec3 by_turn = about - factors.y * cross(w, about) + factors.z * cross(w, cross(w, about));
    vec3 by_shift = u.pose_extent * shifts[0];
    float steps = poses[base + 18u] + 1.0;
    float first = 1.0 - pow(u.beta1, steps);
    float second = 1.0 - pow(u.beta2, steps);
    for (uint k = 0u; k < 6u; ++k) {
        float value = poses[base + k];
        float gradient = (k < 3u ? by_turn[k] : by_shift[k - 3u]) + POSE_HOLD * value;
        float m = u.beta1 * poses[base + 6u + k] + (1.0 - u.beta1) * gradient;
        float v = u.beta2 * poses[base + 12u + k] + (1.0 - u.beta2) * gradient * gradient;
        poses[base + 6u + k] = m;
        poses[base + 12u + k] = v;
        poses[base + k] = value - u.pose_rate * (m / first) / (sqrt(v / second) + 1e-8);
    }
    poses[base + 18u] = steps;
}

#else

layout(local_size_x = 1) in;

layout(set = 0, binding = 0, std430) restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer Poses { float poses[]; };

void main() {
    if ((u.flags & FLAG_POSES) == 0u) {
        return;
    }
    uint base = u.view * POSE_WORDS;
    vec3 w = vec3(poses[base], poses[base + 1u], poses[base + 2u]);
    vec3 s = u.pose_extent * vec3(poses[base + 3u], poses[base + 4u], poses[base + 5u]);
    // A camera that was never corrected keeps its bits.
    if (w == vec3(0.0) && s == vec3(0.0)) {
        return;
    }
    vec3 factors = turn_factors(dot(w, w));
    vec4 row0 = u.view_row0, row1 = u.view_row1, row2 = u.view_row2;
    for (uint k = 0u; k < 4u; ++k) {
        vec3 column = vec3(row0[k], row1[k], row2[k]);
        vec3 side = cross(w, column);
        column += factors.x * side + factors.y * cross(w, side);
        column += k == 3u ? s : vec3(0.0);
        row0[k] = column.x;
        row1[k] = column.y;
        row2[k] = column.z;
    }
    u.view_row0 = row0;
    u.view_row1 = row1;
    u.view_row2 = row2;
    u.camera_position.xyz = -(row0.w * row0.xyz + row1.w * row1.xyz + row2.w * row2.xyz);
}

#endif
#endif
