#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// kiln-variant: -
// kiln-variant: half HALF=1
// kiln-variant: compact COMPACT=1
// kiln-variant: deferred DEFERRED=1
// kiln-variant: surface SURFACE=1
// kiln-variant: compact_surface COMPACT=1 SURFACE=1
// kiln-variant: dense DENSE=1
// kiln-variant: compact_dense COMPACT=1 DENSE=1
// kiln-variant: surface_dense SURFACE=1 DENSE=1
// kiln-variant: compact_surface_dense COMPACT=1 SURFACE=1 DENSE=1
// kiln-variant: bound BOUND=1
// kiln-variant: compact_bound COMPACT=1 BOUND=1
// Projection backward, densification statistics and Adam (Kingma & Ba 2015) for every Gaussian of a chunk, in one pass:
// no parameter gradient ever reaches memory.
//
// `half` and `compact` are for models that store colours, or colours and all moments, in fewer bits. A Gaussian's codes are
// its own, its scale of second moments included, so nothing is shared between threads.
//
// The `deferred` variant leaves the colours of Gaussians out of view alone and gives those in view the steps that they missed first.
// In it SH takes a step when neither of its groups is skipped.
//
// `surface` variants take the gradients of planes on to centres and rotations, `dense` ones those of the terms of the density,
// which Gaussians out of view have too.
//
// `bound` variants are for Gaussians that lie on triangles: scales in the plane, the turn in it, opacity and colours take their
// steps here. What pulls at centre and orientation is left in `statistics` for the triangles, six planes.
#if defined(HALF) || defined(COMPACT)
#define CODES
#endif
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/planes.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint LENS = 0u;  // 1: some cameras have one

#ifdef DEFERRED
layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; vec4 rates[]; };
#else
layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
#endif
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) restrict buffer Geometry { float geometry[]; };
#ifdef COMPACT
layout(set = 0, binding = 3, std430) restrict buffer GeometryM { uint geometry_m[]; };
layout(set = 0, binding = 4, std430) restrict buffer GeometryV { uint geometry_v[]; };
#else
layout(set = 0, binding = 3, std430) restrict buffer GeometryM { float geometry_m[]; };
layout(set = 0, binding = 4, std430) restrict buffer GeometryV { float geometry_v[]; };
#endif
#ifdef CODES
layout(set = 0, binding = 5, std430) restrict buffer Sh { uint sh[]; };
layout(set = 0, binding = 6, std430) restrict buffer ShM { uint sh_m[]; };
layout(set = 0, binding = 7, std430) restrict buffer ShV { uint sh_v[]; };  // plane 0: the scale, f32
#else
layout(set = 0, binding = 5, std430) restrict buffer Sh { float sh[]; };
layout(set = 0, binding = 6, std430) restrict buffer ShM { float sh_m[]; };
layout(set = 0, binding = 7, std430) restrict buffer ShV { float sh_v[]; };
#endif
layout(set = 0, binding = 8, std430) readonly restrict buffer Filter3d { float filter_3d[]; };
layout(set = 0, binding = 9, std430) restrict buffer Statistics { float statistics[]; };
layout(set = 0, binding = 10, std430) readonly restrict buffer VisibleMask { uint visible_mask[]; };
layout(set = 0, binding = 11, std430) readonly restrict buffer GroupVisible { uint group_visible[]; };
layout(set = 0, binding = 12, std430) readonly restrict buffer SplatColor { vec4 splat_color[]; };
layout(set = 0, binding = 13, std430) readonly restrict buffer GradientA { vec4 gradient_a[]; };
layout(set = 0, binding = 14, std430) readonly restrict buffer GradientB { vec4 gradient_b[]; };
layout(set = 0, binding = 15, std430) readonly restrict buffer GradientC { vec4 gradient_c[]; };
#ifdef SURFACE
layout(set = 0, binding = 16, std430) readonly restrict buffer GradientD { vec4 gradient_d[]; };
#ifdef DENSE
layout(set = 0, binding = 17, std430) readonly restrict buffer TermGradient { float term_gradient[]; };
#endif
#else
#ifdef DENSE
layout(set = 0, binding = 16, std430) readonly restrict buffer TermGradient { float term_gradient[]; };
#endif
#endif

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    uint first_group;
    uint sh_coefficients;  // stored, not active
#ifdef DEFERRED
    uint seen_plane;
#endif
};
#define STRIDE stride

#include "common/gaussian.glsl"
#include "common/projection.glsl"
#include "common/plane.glsl"
#include "common/camera_backward.glsl"
#include "common/tiles.glsl"
#include "common/sh.glsl"
#include "common/rng.glsl"
#include "common/dropout.glsl"
#ifdef CODES
#include "common/codes.glsl"
#include "common/sh_words.glsl"
#endif
#ifdef DEFERRED
#define SEEN seen_plane
#include "common/missed.glsl"
#include "common/catch_up.glsl"
#endif

struct Gradient {
    vec3 mean;
    vec4 quat;
    vec3 log_scale;
    float logit;
};

bool bad(float x) {
    return (floatBitsToUint(x) & 0x7f800000u) == 0x7f800000u;
}

// Chain rule from the splat's 2D gradients to the Gaussian's parameters; the direction term of colour is added later.
Gradient project_backward(Gaussian g, Projection p, vec2 d_mean_px, vec3 d_conic, float d_opacity
#ifdef SURFACE
                          , vec4 d_plane
#endif
) {
    Gradient out_g;
#ifdef SURFACE
    CameraGradient c = camera_backward(g, p, d_mean_px, d_conic, d_opacity, d_plane);
#else
    CameraGradient c = camera_backward(g, p, d_mean_px, d_conic, d_opacity);
#endif
    float filtered_opacity = p.sigmoid_opacity * p.compensation;
    float d_filtered = p.coef * opacity_gain() * d_opacity;
    out_g.mean = u.view_row0.xyz * c.t.x + u.view_row1.xyz * c.t.y + u.view_row2.xyz * c.t.z;

    // Scales: through the 3D filter, and through its opacity compensation.
    vec3 d_scale = vec3(dot(p.rotation[0], c.shape[0]), dot(p.rotation[1], c.shape[1]), dot(p.rotation[2], c.shape[2]));
    out_g.log_scale = d_scale * p.scale_raw;
    if (g.filter_3d != 0.0) {
        vec3 variance = p.scale * p.scale;
        out_g.log_scale = d_scale * p.scale_raw * p.scale_raw / p.scale +
                          d_filtered * filtered_opacity * (g.filter_3d * g.filter_3d) / variance;
    }
    out_g.logit = d_filtered * p.compensation * p.sigmoid_opacity * (1.0 - p.sigmoid_opacity);

    // Rotation: m[c][r] is row r, column c.
    mat3 m = mat3(c.shape[0] * p.scale.x, c.shape[1] * p.scale.y, c.shape[2] * p.scale.z);
#ifdef SURFACE
    m += outerProduct(c.axis, c.thin);
#endif
    float norm = length(g.quat);
    vec4 n = g.quat / norm;
    float w = n.x, x = n.y, y = n.z, z = n.w;
    vec4 d_n = 2.0 * vec4(
        -z * m[1][0] + y * m[2][0] + z * m[0][1] - x * m[2][1] - y * m[0][2] + x * m[1][2],
        y * m[1][0] + z * m[2][0] + y * m[0][1] - 2.0 * x * m[1][1] - w * m[2][1] + z * m[0][2] + w * m[1][2] - 2.0 * x * m[2][2],
        -2.0 * y * m[0][0] + x * m[1][0] + w * m[2][0] + x * m[0][1] + z * m[2][1] - w * m[0][2] + z * m[1][2] - 2.0 * y * m[2][2],
        -2.0 * z * m[0][0] - w * m[1][0] + x * m[2][0] + w * m[0][1] - 2.0 * z * m[1][1] + y * m[2][1] + x * m[0][2] + y * m[1][2]);
    out_g.quat = (d_n - n * dot(n, d_n)) / norm;
    return out_g;
}

float adam(float value, float gradient, inout float m, inout float v, uint group) {
    m = u.beta1 * m + (1.0 - u.beta1) * gradient;
    v = u.beta2 * v + (1.0 - u.beta2) * gradient * gradient;
    return value - u.adam_rate[group] * m / (sqrt(v) * u.adam_scale[group] + u.epsilon);
}

#ifdef BOUND
// Planes of the values that have moments, in the moments' order: scales in the plane, turn, opacity.
uint learned_plane(uint p) {
    return p < 2u ? PLANE_SCALES + 1u + p : p < 4u ? PLANE_TURN + p - 2u : PLANE_OPACITY;
}

// What pulls at a Gaussian's centre, and the torque about it.
void leave_pull(uint i, vec3 force, vec3 torque) {
    for (uint c = 0u; c < 3u; ++c) {
        statistics[c * stride + i] = force[c];
        statistics[(3u + c) * stride + i] = torque[c];
    }
}

// Torque of a quaternion's gradient: dL/dw for a rotation by w after the Gaussian's own.
vec3 torque_of(vec4 quat, vec4 gradient) {
    return 0.5 * (quat.x * gradient.yzw - gradient.x * quat.yzw + cross(quat.yzw, gradient.yzw));
}
#define LEARNED_PLANE(P) learned_plane(P)
#define LEARNED_PLANES BOUND_LEARNED_PLANES
#else
#define LEARNED_PLANE(P) (P)
#define LEARNED_PLANES GEOMETRY_PLANES
#endif

bool runs(uint group) {
    return (u.flags & FLAG_UPDATE) != 0u && (u.adam_skip_mask & (1u << group)) == 0u;
}

// Adam for `COUNT` planes from `FIRST` on, a compile-time number: a compiler cannot tell a plane's store from the next one's
// load, so all of them are loaded before any is stored. One after the other they wait for memory `COUNT` times.
#define LOAD_PLANES(VALUES, FIRST, COUNT)         \
    float x[COUNT], m[COUNT], v[COUNT];           \
    [[unroll]] for (uint j = 0u; j < COUNT; ++j) { \
        uint at = (FIRST + j) * stride + i;       \
        x[j] = VALUES[at];                        \
        m[j] = VALUES##_m[at];                    \
        v[j] = VALUES##_v[at];                    \
    }
#define ADAM_PLANES(VALUES, FIRST, COUNT, GRADIENT, GROUP) \
    [[unroll]] for (uint j = 0u; j < COUNT; ++j) {         \
        x[j] = adam(x[j], GRADIENT, m[j], v[j], GROUP);    \
    }                                                      \
    [[unroll]] for (uint j = 0u; j < COUNT; ++j) {         \
        uint at = (FIRST + j) * stride + i;                \
        VALUES[at] = x[j];                                 \
        VALUES##_m[at] = m[j];                             \
        VALUES##_v[at] = v[j];                             \
    }

#ifdef COMPACT
// Values 2 j and 2 j + 1, whose moments share words. A value of a group that does not run keeps its codes.
void adam_geometry_pair(uint j, uint i, vec2 gradient, uvec2 groups, uint stream) {
    bvec2 run = bvec2(runs(groups.x), runs(groups.y));
    if (!any(run)) {
        return;
    }
    uint at = j * stride + i;
    uint m_word = geometry_m[at], v_word = geometry_v[at];
    for (uint h = 0u; h < 2u; ++h) {
        uint p = 2u * j + h;
        if (run[h] && p < LEARNED_PLANES) {
            int shift = int(16u * h);
            float v = wide_second_value(bitfieldExtract(v_word, shift, 16));
            float m = ratio16_value(bitfieldExtract(int(m_word), shift, 16)) * sqrt(v);
            uint value_at = LEARNED_PLANE(p) * stride + i;
            geometry[value_at] = adam(geometry[value_at], gradient[h], m, v, groups[h]);
            uint draw = rounding_draw(stream, CHANNEL_GEOMETRY + p);
            uint v_code = wide_second_code(v, draw >> 16);
            int m_code = ratio16_code(m * over_root(wide_second_value(v_code)), draw & 0xffffu);
            v_word = bitfieldInsert(v_word, v_code, shift, 16);
            m_word = bitfieldInsert(m_word, uint(m_code), shift, 16);
        }
    }
    geometry_m[at] = m_word;
    geometry_v[at] = v_word;
}
#endif

// Derivative of the binary entropy of sigma(x) by x: -x sigma(x) sigma(-x). By the probability it would be a difference of
// logarithms, of which 1 - p has none where a quotient rounds to more than 1.
float entropy_slope(float x) {
    float e = exp(-abs(x));
    return -x * e / ((1.0 + e) * (1.0 + e));
}

// Gradients of the terms of the loss that look at parameters: w mean(sigma(o)) and w mean(s), over all Gaussians and axes, and
// w mean(min s) and the w mean entropy of sigma(o) over the visible ones.
void regularize(uint i, bool visible, inout Gradient gradient) {
    float inverse_count = 1.0 / float(counters.gaussians);
    if (u.opacity_weight != 0.0) {
        float opacity = 1.0 / (1.0 + exp(-geometry[PLANE_OPACITY * stride + i]));
        gradient.logit += u.opacity_weight * inverse_count * opacity * (1.0 - opacity);
    }
    if (u.scale_weight != 0.0) {
        vec3 scale = exp(vec3(geometry[PLANE_SCALES * stride + i], geometry[(PLANE_SCALES + 1u) * stride + i],
                              geometry[(PLANE_SCALES + 2u) * stride + i]));
        gradient.log_scale += u.scale_weight * inverse_count / 3.0 * scale;
    }
    if (u.entropy_weight != 0.0 && visible) {
        gradient.logit += u.entropy_weight / float(counters.visible) * entropy_slope(geometry[PLANE_OPACITY * stride + i]);
    }
    if (u.flat_weight != 0.0 && visible) {
        vec3 log_scale = vec3(geometry[PLANE_SCALES * stride + i], geometry[(PLANE_SCALES + 1u) * stride + i],
                              geometry[(PLANE_SCALES + 2u) * stride + i]);
        vec3 thin = thinnest(log_scale);
        gradient.log_scale += u.flat_weight / float(counters.visible) * exp(dot(thin, log_scale)) * thin;
    }
}

#ifdef DENSE
// Takes the gradients of the density's terms, which are by deviations and opacity with the 3D filter, on to the parameters.
void add_terms(uint i, inout Gradient gradient) {
    if ((u.flags & FLAG_DENSITY) == 0u) {
        return;
    }
    float term[10];
    [[unroll]] for (uint j = 0u; j < 10u; ++j) {
        term[j] = term_gradient[j * stride + i];
    }
    Gaussian g = load_gaussian(i);
    gradient.mean += vec3(term[0], term[1], term[2]);
    vec3 turn = vec3(term[3], term[4], term[5]);
    float norm = length(g.quat);
    vec4 n = g.quat / norm;
    gradient.quat += 2.0 / norm * vec4(-dot(turn, n.yzw), turn * n.x + cross(turn, n.yzw));
    vec3 by_log = vec3(term[6], term[7], term[8]);
    float sigmoid = 1.0 / (1.0 + exp(-g.logit));
    float compensation = 1.0;
    if (g.filter_3d != 0.0) {
        vec3 raw = exp(2.0 * g.log_scale);
        vec3 variance = raw + g.filter_3d * g.filter_3d;
        vec3 kept = raw / variance;
        compensation = sqrt(kept.x * kept.y * kept.z);
        by_log = by_log * kept + (term[9] * sigmoid * compensation) * (1.0 - kept);
    }
    gradient.log_scale += by_log;
    gradient.logit += term[9] * compensation * sigmoid * (1.0 - sigmoid);
}

bool bad_geometry(Gradient gradient) {
    return bad(dot(gradient.mean, gradient.mean) + dot(gradient.quat, gradient.quat) +
               dot(gradient.log_scale, gradient.log_scale) + gradient.logit * gradient.logit);
}
#endif

void update(uint group, uint lane, uint i) {
    uint word = visible_mask[group * 8u + (lane >> 5)];
    bool visible = (word & (1u << (lane & 31u))) != 0u;

    Gradient gradient = Gradient(vec3(0.0), vec4(0.0), vec3(0.0), 0.0);
    vec3 d_rgb = vec3(0.0);
    float basis[16];
    float inv_distance = 0.0;  // from the camera
    vec3 direction = vec3(0.0);
    uint live_coefficients = min((u.sh_degree + 1u) * (u.sh_degree + 1u), sh_coefficients);
    bool counts = (u.flags & FLAG_STATISTICS) != 0u;
    bool counts_faint = counts && (u.flags & FLAG_COUNT_FAINT) != 0u;
    Gaussian g;
    Projection p;
    if (visible || counts_faint) {
        g = load_gaussian(i);
        p = project(g);
    }
    bool sh0_runs = runs(GROUP_SH0), rest_runs = runs(GROUP_SH_REST);
#ifdef DEFERRED
    sh0_runs = visible && sh0_runs && rest_runs;
    rest_runs = sh0_runs;
#endif
    if (visible) {
        uint v = group_visible[first_group + group] + uint(bitCount(word & ((1u << (lane & 31u)) - 1u)));
        for (uint w = 0u; w < (lane >> 5); ++w) {
            v += uint(bitCount(visible_mask[group * 8u + w]));
        }
        vec4 a = gradient_a[v];
        vec4 b = gradient_b[v];
        vec4 c = gradient_c[v];
        uint clamped = uint(splat_color[v].w);
        d_rgb = vec3((clamped & 1u) != 0u ? 0.0 : c.x, (clamped & 2u) != 0u ? 0.0 : c.y,
                     (clamped & 4u) != 0u ? 0.0 : c.z);
#ifdef SURFACE
        gradient = project_backward(g, p, a.xy, b.xyz, a.z, gradient_d[v]);
#else
        gradient = project_backward(g, p, a.xy, b.xyz, a.z);
#endif
        vec3 offset = g.mean - u.camera_position.xyz;
        inv_distance = inversesqrt(max(dot(offset, offset), 1e-30));
        direction = offset * inv_distance;
        sh_basis(direction, basis);
#ifdef CODES
        vec3 basis_gradient[16];
        sh_basis_gradient(direction, basis_gradient);
        vec3 d_direction = vec3(0.0);
        for (uint k = 0u; k < 16u; ++k) {
            if (k < live_coefficients) {
                d_direction += basis_gradient[k] * dot(sh_words(k, i), d_rgb);
            }
        }
        gradient.mean += (d_direction - direction * dot(direction, d_direction)) * inv_distance;
#endif

#ifdef DENSE
        add_terms(i, gradient);
#endif

        // Known before anything is written: what is not finite moves nothing. Squares, because the second moment holds squares.
        float check = dot(gradient.mean, gradient.mean) + dot(gradient.quat, gradient.quat) +
                      dot(gradient.log_scale, gradient.log_scale) + gradient.logit * gradient.logit +
                      dot(d_rgb, d_rgb);
        if (bad(check)) {
            atomicAdd(counters.skipped, 1u);
#ifdef BOUND
            leave_pull(i, vec3(0.0), vec3(0.0));
#endif
#ifdef DEFERRED
            // It has no part in this step, now or later.
            if (sh0_runs) {
                set_seen_steps(i, u.sh_steps + 1u);
            }
#endif
            return;
        }
        if (counts && (u.flags & FLAG_SCORES) == 0u) {
            statistics[i] += length(a.xy * (0.5 * vec2(u.width, u.height)));
        } else if (counts && adds_errors(u.iteration)) {
            statistics[i] += c.w;
            counts = false;
        }
        if (counts) {
            statistics[stride + i] += a.w;
            statistics[PLANE_COUNT * stride + i] += 1.0;
        }
    } else if (counts_faint && !dropped(first + i)) {
        ivec4 rect = p.shown ? tile_rect(p.mean_px, p.radius, uvec2(u.tiles_x, u.tiles_y)) : ivec4(0);
        if (rect.x < rect.z && rect.y < rect.w) {
            statistics[PLANE_COUNT * stride + i] += 1.0;
        }
    }

#ifdef DENSE
    if (!visible) {
        add_terms(i, gradient);
        if (bad_geometry(gradient)) {
            atomicAdd(counters.skipped, 1u);
            return;
        }
    }
#endif
    regularize(i, visible, gradient);

#ifdef CODES
    uint stream = rounding_stream(u.seed, u.iteration, first + i);
    // The scale of second moments is the second moment of the largest gradient, which is at least as large as theirs. It
    // decays only where all of them do.
    float scale = sh0_runs || rest_runs ? uintBitsToFloat(sh_v[i]) : 0.0;
    float largest = 0.0;
    for (uint k = 0u; k < 16u; ++k) {
        if (visible && k < live_coefficients) {
            largest = max(largest, abs(basis[k]));
        }
    }
    largest *= max(abs(d_rgb.r), max(abs(d_rgb.g), abs(d_rgb.b)));
    float new_scale = (sh0_runs && rest_runs ? u.beta2 : 1.0) * scale + (1.0 - u.beta2) * largest * largest;
    // A scale of 0 is that of a Gaussian that was never seen: its moments are 0, and it does not move.
    if ((sh0_runs || rest_runs) && new_scale > 0.0) {
        sh_v[i] = floatBitsToUint(new_scale);
        int base = second_base(scale), new_base = second_base(new_scale);
        for (uint q = 0u; q < 12u; ++q) {
            if (4u * q < 3u * live_coefficients) {
                uint at = 2u * q * stride + i;
                uvec2 words = uvec2(sh[at], sh[at + stride]);
                vec4 values = vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y));
#ifdef COMPACT
                uint moment_at = q * stride + i;
                uint m_word = sh_m[moment_at], v_word = sh_v[moment_at + stride];
#else
                uvec2 m_words = uvec2(sh_m[at], sh_m[at + stride]);
                uvec2 v_words = uvec2(sh_v[at + stride], sh_v[at + 2u * stride]);
#endif
                uvec2 draws = uvec2(rounding_draw(stream, CHANNEL_SH + 2u * q),
                                    rounding_draw(stream, CHANNEL_SH + 2u * q + 1u));
                for (uint j = 0u; j < 4u; ++j) {
                    uint p = 4u * q + j, k = p / 3u;
                    uint sh_group = k == 0u ? GROUP_SH0 : GROUP_SH_REST;
                    if (k < live_coefficients) {
#ifdef COMPACT
                        int shift = int(8u * j);
                        float v = second_value(bitfieldExtract(v_word, shift, 8), base);
                        float m = ratio8_value(bitfieldExtract(int(m_word), shift, 8)) * sqrt(v);
#else
                        int shift = int(16u * (j & 1u));
                        float v = second_value(bitfieldExtract(v_words[j >> 1], shift, 16), base);
                        float m = ratio16_value(bitfieldExtract(int(m_words[j >> 1]), shift, 16)) * sqrt(v);
#endif
                        if (k == 0u ? sh0_runs : rest_runs) {
                            values[j] = adam(values[j], visible ? basis[k] * d_rgb[p % 3u] : 0.0, m, v, sh_group);
                            uint half_draw = draws[j >> 1] >> (16u * (j & 1u)) & 0xffffu;
                            words[j >> 1] = bitfieldInsert(words[j >> 1], half_code(values[j], half_draw),
                                                           int(16u * (j & 1u)), 16);
                        }
                        uint draw = rounding_draw(stream, CHANNEL_SH_MOMENTS + p);
                        uint v_code = second_code(v, new_base, draw >> 16);
                        float ratio = m * over_root(second_value(v_code, new_base));
#ifdef COMPACT
                        v_word = bitfieldInsert(v_word, v_code, shift, 8);
                        m_word = bitfieldInsert(m_word, uint(ratio8_code(ratio, draw & 0xffffu)), shift, 8);
#else
                        v_words[j >> 1] = bitfieldInsert(v_words[j >> 1], v_code, shift, 16);
                        m_words[j >> 1] = bitfieldInsert(m_words[j >> 1], uint(ratio16_code(ratio, draw & 0xffffu)),
                                                         shift, 16);
#endif
                    }
                }
                sh[at] = words.x;
                sh[at + stride] = words.y;
#ifdef COMPACT
                sh_m[moment_at] = m_word;
                sh_v[moment_at + stride] = v_word;
#else
                sh_m[at] = m_words.x;
                sh_m[at + stride] = m_words.y;
                sh_v[at + stride] = v_words.x;
                sh_v[at + 2u * stride] = v_words.y;
#endif
            }
        }
    }
#else
    // Colours are read once: what they were missing, what they say about the direction, and their step, degree by degree.
    vec3 basis_gradient[16];
    sh_basis_gradient(direction, basis_gradient);
    vec3 d_direction = vec3(0.0);
#ifdef DEFERRED
    Missed missed;
    if (visible) {
        missed = missed_since(seen_steps(i));
    }
#define CATCH_UP(FIRST, COUNT)                                              \
    [[unroll]] for (uint j = 0u; j < 3u * COUNT; ++j) {                     \
        x[j] -= missed_change(missed, FIRST > 0u, m[j], v[j]);              \
        m[j] *= missed.first;                                               \
        v[j] *= missed.second;                                              \
    }
#else
#define CATCH_UP(FIRST, COUNT)
#endif
    // The coefficients of a degree are there or not together.
#define SH_STEP(FIRST, COUNT, GROUP, RUNS)                                                                         \
    if (live_coefficients > FIRST && (RUNS || visible)) {                                                          \
        LOAD_PLANES(sh, 3u * FIRST, 3u * COUNT)                                                                    \
        CATCH_UP(FIRST, COUNT)                                                                                     \
        if (visible) {                                                                                             \
            [[unroll]] for (uint k = 0u; k < COUNT; ++k) {                                                         \
                d_direction += basis_gradient[FIRST + k] * dot(vec3(x[3u * k], x[3u * k + 1u], x[3u * k + 2u]), d_rgb); \
            }                                                                                                      \
        }                                                                                                          \
        if (RUNS) {                                                                                                \
            ADAM_PLANES(sh, 3u * FIRST, 3u * COUNT, visible ? basis[FIRST + j / 3u] * d_rgb[j % 3u] : 0.0, GROUP)  \
        }                                                                                                          \
    }
    SH_STEP(0u, 1u, GROUP_SH0, sh0_runs)
    SH_STEP(1u, 3u, GROUP_SH_REST, rest_runs)
    SH_STEP(4u, 5u, GROUP_SH_REST, rest_runs)
    SH_STEP(9u, 3u, GROUP_SH_REST, rest_runs)
    SH_STEP(12u, 4u, GROUP_SH_REST, rest_runs)
    if (visible) {
        gradient.mean += (d_direction - direction * dot(direction, d_direction)) * inv_distance;
        // Where this is not finite, colours beyond all measure are to blame; they have taken their step.
        if (bad(dot(gradient.mean, gradient.mean))) {
            atomicAdd(counters.skipped, 1u);
#ifdef BOUND
            leave_pull(i, vec3(0.0), vec3(0.0));
#endif
#ifdef DEFERRED
            if (sh0_runs) {
                set_seen_steps(i, u.sh_steps + 1u);
            }
#endif
            return;
        }
    }
#endif
#ifdef DEFERRED
    if (sh0_runs) {
        set_seen_steps(i, u.sh_steps + 1u);
    }
#endif
#ifdef BOUND
    vec3 torque = vec3(0.0);
    vec2 d_turn = vec2(0.0);
    if (visible) {
        torque = torque_of(g.quat, gradient.quat);
        // To turn in the plane is to turn about its normal, the first axis.
        float w = g.quat.x, x = g.quat.y, y = g.quat.z, z = g.quat.w;
        vec3 normal = vec3(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y));
        vec2 turn = vec2(geometry[PLANE_TURN * stride + i], geometry[(PLANE_TURN + 1u) * stride + i]);
        d_turn = dot(torque, normal) / max(dot(turn, turn), 1e-30) * vec2(-turn.y, turn.x);
    }
    leave_pull(i, gradient.mean, torque);
#ifdef COMPACT
    adam_geometry_pair(0u, i, gradient.log_scale.yz, uvec2(GROUP_SCALES), stream);
    adam_geometry_pair(1u, i, d_turn, uvec2(GROUP_QUATS), stream);
    adam_geometry_pair(2u, i, vec2(gradient.logit, 0.0), uvec2(GROUP_OPACITY), stream);
#else
    float learned[BOUND_LEARNED_PLANES] = float[](gradient.log_scale.y, gradient.log_scale.z, d_turn.x, d_turn.y, gradient.logit);
    uint groups[BOUND_LEARNED_PLANES] = uint[](GROUP_SCALES, GROUP_SCALES, GROUP_QUATS, GROUP_QUATS, GROUP_OPACITY);
    [[unroll]] for (uint p = 0u; p < BOUND_LEARNED_PLANES; ++p) {
        if (runs(groups[p])) {
            uint at = p * stride + i, value_at = LEARNED_PLANE(p) * stride + i;
            float m = geometry_m[at], v = geometry_v[at];
            geometry[value_at] = adam(geometry[value_at], learned[p], m, v, groups[p]);
            geometry_m[at] = m;
            geometry_v[at] = v;
        }
    }
#endif
#elif defined(COMPACT)
    adam_geometry_pair(0u, i, gradient.mean.xy, uvec2(GROUP_MEANS), stream);
    adam_geometry_pair(1u, i, vec2(gradient.mean.z, gradient.quat.x), uvec2(GROUP_MEANS, GROUP_QUATS), stream);
    adam_geometry_pair(2u, i, gradient.quat.yz, uvec2(GROUP_QUATS), stream);
    adam_geometry_pair(3u, i, vec2(gradient.quat.w, gradient.log_scale.x), uvec2(GROUP_QUATS, GROUP_SCALES), stream);
    adam_geometry_pair(4u, i, gradient.log_scale.yz, uvec2(GROUP_SCALES), stream);
    adam_geometry_pair(5u, i, vec2(gradient.logit, 0.0), uvec2(GROUP_OPACITY), stream);
#else
    if (runs(GROUP_MEANS)) {
        LOAD_PLANES(geometry, PLANE_MEANS, 3u)
        ADAM_PLANES(geometry, PLANE_MEANS, 3u, gradient.mean[j], GROUP_MEANS)
    }
    if (runs(GROUP_QUATS)) {
        LOAD_PLANES(geometry, PLANE_QUATS, 4u)
        ADAM_PLANES(geometry, PLANE_QUATS, 4u, gradient.quat[j], GROUP_QUATS)
    }
    if (runs(GROUP_SCALES)) {
        LOAD_PLANES(geometry, PLANE_SCALES, 3u)
        ADAM_PLANES(geometry, PLANE_SCALES, 3u, gradient.log_scale[j], GROUP_SCALES)
    }
    if (runs(GROUP_OPACITY)) {
        LOAD_PLANES(geometry, PLANE_OPACITY, 1u)
        ADAM_PLANES(geometry, PLANE_OPACITY, 1u, gradient.logit, GROUP_OPACITY)
    }
#endif
}

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint i = group * 256u + lane;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled == 0u && i < count) {
        update(group, lane, i);
    }
}
