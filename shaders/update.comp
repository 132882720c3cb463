#version 450
#extension GL_GOOGLE_include_directive : require
// Projection backward, densification statistics and Adam (Kingma & Ba 2015) for every Gaussian of a chunk, in one pass:
// no parameter gradient ever reaches memory.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) restrict buffer Geometry { float geometry[]; };
layout(set = 0, binding = 3, std430) restrict buffer GeometryM { float geometry_m[]; };
layout(set = 0, binding = 4, std430) restrict buffer GeometryV { float geometry_v[]; };
layout(set = 0, binding = 5, std430) restrict buffer Sh { float sh[]; };
layout(set = 0, binding = 6, std430) restrict buffer ShM { float sh_m[]; };
layout(set = 0, binding = 7, std430) restrict buffer ShV { float sh_v[]; };
layout(set = 0, binding = 8, std430) readonly restrict buffer Filter3d { float filter_3d[]; };
layout(set = 0, binding = 9, std430) restrict buffer Statistics { float statistics[]; };
layout(set = 0, binding = 10, std430) readonly restrict buffer VisibleMask { uint visible_mask[]; };
layout(set = 0, binding = 11, std430) readonly restrict buffer GroupVisible { uint group_visible[]; };
layout(set = 0, binding = 12, std430) readonly restrict buffer SplatColor { vec4 splat_color[]; };
layout(set = 0, binding = 13, std430) readonly restrict buffer GradientA { vec4 gradient_a[]; };
layout(set = 0, binding = 14, std430) readonly restrict buffer GradientB { vec4 gradient_b[]; };
layout(set = 0, binding = 15, std430) readonly restrict buffer GradientC { vec4 gradient_c[]; };

layout(push_constant) uniform Push {
    uint stride;
    uint first;
    uint first_group;
    uint sh_coefficients;  // stored, not active
};
#define STRIDE stride

#include "common/gaussian.glsl"
#include "common/projection.glsl"
#include "common/tiles.glsl"
#include "common/sh.glsl"

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
Gradient project_backward(Gaussian g, Projection p, vec2 d_mean_px, vec3 d_conic, float d_opacity) {
    Gradient out_g;
    // Through the inverse: dL/dLambda = -K Gc K with the symmetric Gc of the conic's three numbers; K is the adjugate
    // over a determinant that is kept from vanishing.
    vec3 k = vec3(p.lambda.z, -p.lambda.y, p.lambda.x);
    vec3 gc = vec3(d_conic.x, 0.5 * d_conic.y, d_conic.z);
    vec2 r0 = vec2(k.x * gc.x + k.y * gc.y, k.x * gc.y + k.y * gc.z);
    vec2 r1 = vec2(k.y * gc.x + k.z * gc.y, k.y * gc.y + k.z * gc.z);
    vec3 d = -vec3(r0.x * k.x + r0.y * k.y, r0.x * k.y + r0.y * k.z, r1.x * k.y + r1.y * k.z) /
             (p.det * p.det + 1e-7);
    float filtered_opacity = p.sigmoid_opacity * p.compensation;
    float d_filtered = p.coef * d_opacity;
    if ((u.flags & FLAG_CLASSIC) == 0u && p.coef > 0.0) {
        float d_coef = d_opacity * (p.opacity / (p.coef + 1e-6));
        float d_ratio = d_coef / (2.0 * (p.coef + 1e-6));
        float d_det0 = d_ratio / (p.det1 + 1e-6);
        float d_det1 = -d_ratio * p.det0 / (p.det1 * p.det1 + 1e-6);
        d += d_det0 * vec3(p.cov.z, -p.cov.y, p.cov.x) + d_det1 * vec3(p.lambda.z, -p.lambda.y, p.lambda.x);
    }
    mat3 q = mat3(p.rotation[0] * p.scale.x, p.rotation[1] * p.scale.y, p.rotation[2] * p.scale.z);
    vec3 t0 = p.row0 * q;
    vec3 t1 = p.row1 * q;
    vec3 d_t0 = 2.0 * (d.x * t0 + d.y * t1);
    vec3 d_t1 = 2.0 * (d.y * t0 + d.z * t1);
    vec3 d_row0 = q * d_t0;
    vec3 d_row1 = q * d_t1;
    mat3 d_q = mat3(p.row0 * d_t0.x + p.row1 * d_t1.x, p.row0 * d_t0.y + p.row1 * d_t1.y,
                    p.row0 * d_t0.z + p.row1 * d_t1.z);

    // Through the Jacobian to the camera-space mean.
    vec3 w0 = u.view_row0.xyz, w1 = u.view_row1.xyz, w2 = u.view_row2.xyz;
    float fx = u.intrinsics.x, fy = u.intrinsics.y;
    float inv_z = 1.0 / p.t.z;
    float inv_z2 = inv_z * inv_z;
    float j00 = dot(d_row0, w0), j02 = dot(d_row0, w2), j11 = dot(d_row1, w1), j12 = dot(d_row1, w2);
    vec3 d_t = vec3(-fx * inv_z2 * j02 * p.slope_free.x, -fy * inv_z2 * j12 * p.slope_free.y,
                    inv_z2 * (-fx * j00 - fy * j11 + 2.0 * fx * p.slope.x * j02 + 2.0 * fy * p.slope.y * j12));
    d_t.x += fx * inv_z * d_mean_px.x;
    d_t.y += fy * inv_z * d_mean_px.y;
    d_t.z -= inv_z2 * (fx * p.t.x * d_mean_px.x + fy * p.t.y * d_mean_px.y);
    out_g.mean = w0 * d_t.x + w1 * d_t.y + w2 * d_t.z;

    // Scales: through the 3D filter, and through its opacity compensation.
    vec3 d_scale = vec3(dot(p.rotation[0], d_q[0]), dot(p.rotation[1], d_q[1]), dot(p.rotation[2], d_q[2]));
    out_g.log_scale = d_scale * p.scale_raw;
    if (g.filter_3d != 0.0) {
        vec3 variance = p.scale * p.scale;
        out_g.log_scale = d_scale * p.scale_raw * p.scale_raw / p.scale +
                          d_filtered * filtered_opacity * (g.filter_3d * g.filter_3d) / variance;
    }
    out_g.logit = d_filtered * p.compensation * p.sigmoid_opacity * (1.0 - p.sigmoid_opacity);

    // Rotation: m[c][r] is row r, column c.
    mat3 m = mat3(d_q[0] * p.scale.x, d_q[1] * p.scale.y, d_q[2] * p.scale.z);
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

void adam_geometry(uint plane, uint i, float gradient, uint group) {
    uint at = plane * stride + i;
    float m = geometry_m[at], v = geometry_v[at];
    geometry[at] = adam(geometry[at], gradient, m, v, group);
    geometry_m[at] = m;
    geometry_v[at] = v;
}

bool runs(uint group) {
    return (u.flags & FLAG_UPDATE) != 0u && (u.adam_skip_mask & (1u << group)) == 0u;
}

void count_shown(uint i, float radius) {
    statistics[2u * stride + i] += 1.0;
    statistics[3u * stride + i] = max(statistics[3u * stride + i], radius);
}

void main() {
    uint group = group_index();
    uint lane = gl_LocalInvocationIndex;
    uint i = group * 256u + lane;
    uint count = counters.gaussians > first ? min(counters.gaussians - first, stride) : 0u;
    if (counters.stalled != 0u || i >= count) {
        return;
    }
    uint word = visible_mask[group * 8u + (lane >> 5)];
    bool visible = (word & (1u << (lane & 31u))) != 0u;

    Gradient gradient = Gradient(vec3(0.0), vec4(0.0), vec3(0.0), 0.0);
    vec3 d_rgb = vec3(0.0);
    float basis[16];
    uint live_coefficients = min((u.sh_degree + 1u) * (u.sh_degree + 1u), sh_coefficients);
    bool counts = (u.flags & FLAG_STATISTICS) != 0u;
    bool counts_faint = counts && (u.flags & FLAG_COUNT_FAINT) != 0u;
    Gaussian g;
    Projection p;
    if (visible || counts_faint) {
        g = load_gaussian(i);
        p = project(g);
    }
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
        gradient = project_backward(g, p, a.xy, b.xyz, a.z);
        vec3 offset = g.mean - u.camera_position.xyz;
        float inv_distance = inversesqrt(max(dot(offset, offset), 1e-30));
        vec3 direction = offset * inv_distance;
        sh_basis(direction, basis);
        vec3 basis_gradient[16];
        sh_basis_gradient(direction, basis_gradient);
        vec3 d_direction = vec3(0.0);
        for (uint k = 0u; k < 16u; ++k) {
            if (k < live_coefficients) {
                uint at = 3u * k * stride + i;
                d_direction += basis_gradient[k] * dot(vec3(sh[at], sh[at + stride], sh[at + 2u * stride]), d_rgb);
            }
        }
        gradient.mean += (d_direction - direction * dot(direction, d_direction)) * inv_distance;

        // Everything is known before anything is written: a Gaussian is updated whole or not at all.
        // Squares, because the second moment holds squares.
        float check = dot(gradient.mean, gradient.mean) + dot(gradient.quat, gradient.quat) +
                      dot(gradient.log_scale, gradient.log_scale) + gradient.logit * gradient.logit +
                      dot(d_rgb, d_rgb);
        if (bad(check)) {
            atomicAdd(counters.skipped, 1u);
            return;
        }
        if (counts) {
            vec2 ndc = a.xy * (0.5 * vec2(u.width, u.height));
            statistics[i] += length(ndc);
            bool largest = (u.flags & FLAG_ABS_MAX) != 0u;
            float pull = statistics[stride + i];
            statistics[stride + i] = largest ? max(pull, a.w) : pull + a.w;
            count_shown(i, p.radius);
        }
    } else if (counts_faint) {
        ivec4 rect = p.shown ? tile_rect(p.mean_px, p.radius, uvec2(u.tiles_x, u.tiles_y)) : ivec4(0);
        if (rect.x < rect.z && rect.y < rect.w) {
            count_shown(i, p.radius);
        }
    }

    for (uint k = 0u; k < 16u; ++k) {
        uint sh_group = k == 0u ? GROUP_SH0 : GROUP_SH_REST;
        if (k < live_coefficients && runs(sh_group)) {
            for (uint c = 0u; c < 3u; ++c) {
                uint at = (3u * k + c) * stride + i;
                float m = sh_m[at], v = sh_v[at];
                sh[at] = adam(sh[at], visible ? basis[k] * d_rgb[c] : 0.0, m, v, sh_group);
                sh_m[at] = m;
                sh_v[at] = v;
            }
        }
    }
    if (runs(GROUP_MEANS)) {
        for (uint c = 0u; c < 3u; ++c) {
            adam_geometry(c, i, gradient.mean[c], GROUP_MEANS);
        }
    }
    if (runs(GROUP_QUATS)) {
        for (uint c = 0u; c < 4u; ++c) {
            adam_geometry(3u + c, i, gradient.quat[c], GROUP_QUATS);
        }
    }
    if (runs(GROUP_SCALES)) {
        for (uint c = 0u; c < 3u; ++c) {
            adam_geometry(7u + c, i, gradient.log_scale[c], GROUP_SCALES);
        }
    }
    if (runs(GROUP_OPACITY)) {
        adam_geometry(10u, i, gradient.logit, GROUP_OPACITY);
    }
}
