#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: gradient GRADIENT=1
// kiln-variant: update UPDATE=1
// Exposure of the step's photo: an affine map of colours, e(x) = A x + b, learnt for each training view.
//
// Plain variant, one tile a group: the rendered image as the photo's camera would have shown it. Gradient variant: the
// gradient of e(x) becomes that of x, and each tile's sums of the twelve derivatives by A and b are stored. Update variant,
// one group: adds the tiles in a fixed order and takes an Adam step (Kingma and Ba 2015) towards less loss. Every CENTRE_EVERY
// iterations it also takes from all maps what their mean differs from doing nothing.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

// Of a view: A and b row by row, three rows of four; first moments; second moments; number of steps; unused.
const uint EXPOSURE_WORDS = 40u;  // words per view: the map, two moments, the number of steps, and three unused
// A prime, so that it does not fall on the steps that densifications skip time and again.
const uint CENTRE_EVERY = 61u;  // iterations between two moments at which the mean of all maps becomes the identity
// Views whose maps are at work at once, a lane each of the twelve numbers.
const uint CENTRE_VIEWS = 21u;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
#ifdef UPDATE
layout(set = 0, binding = 2, std430) restrict buffer Exposures { float exposures[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer ExposureSums { float exposure_sums[]; };

layout(push_constant) uniform Push {
    uint views;
};
#else
layout(set = 0, binding = 2, std430) readonly restrict buffer Exposures { float exposures[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Image { vec4 image[]; };
#ifdef GRADIENT
layout(set = 0, binding = 4, std430) restrict buffer ImageGradient { vec4 image_gradient[]; };
layout(set = 0, binding = 5, std430) writeonly restrict buffer ExposureSums { float exposure_sums[]; };
#else
layout(set = 0, binding = 4, std430) writeonly restrict buffer ExposedImage { vec4 exposed_image[]; };
#endif

layout(push_constant) uniform Push {
    uint swath_begin;  // pixels that rows of this swath begin at
    uint swath_end;    // one past the last
    uint swath_base;   // pixel that bound tensors begin with
};
#include "common/swath.glsl"
#endif

#if defined(GRADIENT) || defined(UPDATE)
shared float reduce[256];

float group_sum(float value) {
    uint lane = gl_LocalInvocationIndex;
    barrier();
    reduce[lane] = value;
    barrier();
    for (uint half_size = 128u; half_size > 0u; half_size >>= 1u) {
        if (lane < half_size) {
            reduce[lane] += reduce[lane + half_size];
        }
        barrier();
    }
    return reduce[0];
}
#endif

#ifdef UPDATE

void main() {
    // With the colours' step: none where densification or the last iteration takes none.
    bool skipped = (u.flags & FLAG_UPDATE) == 0u || (u.adam_skip_mask & (1u << GROUP_SH0)) != 0u;
    if (counters.stalled != 0u || skipped) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    uint tiles = u.tiles_x * u.tiles_y;
    uint base = u.view * EXPOSURE_WORDS;
    // The lanes that also move this view's map when all are centred, so that no lane reads what another has written.
    uint home = 12u * (u.view % CENTRE_VIEWS);
    uint component = lane % 12u;
    float rest = component % 5u == 0u ? 1.0 : 0.0;  // the diagonal of A
    float gradient = 0.0;
    for (uint k = 0u; k < 12u; ++k) {
        float sum = 0.0;
        for (uint tile = lane; tile < tiles; tile += 256u) {
            sum += exposure_sums[12u * tile + k];
        }
        sum = group_sum(sum);
        if (lane == home + k) {
            gradient = sum;
        }
    }
    float steps = exposures[base + 36u] + 1.0;
    barrier();
    if (lane >= home && lane < home + 12u) {
        float value = exposures[base + component];
        gradient += u.exposure_hold * (value - rest);
        float m = u.beta1 * exposures[base + 12u + component] + (1.0 - u.beta1) * gradient;
        float v = u.beta2 * exposures[base + 24u + component] + (1.0 - u.beta2) * gradient * gradient;
        float first = 1.0 - pow(u.beta1, steps);
        float second = 1.0 - pow(u.beta2, steps);
        exposures[base + 12u + component] = m;
        exposures[base + 24u + component] = v;
        exposures[base + component] = value - u.camera_position.w * (m / first) / (sqrt(v / second) + 1e-8);
    }
    if (lane == home) {
        exposures[base + 36u] = steps;
    }
    if (u.iteration % CENTRE_EVERY != 0u) {
        return;
    }
    uint slot = lane / 12u;
    float sum = 0.0;
    for (uint view = slot; slot < CENTRE_VIEWS && view < views; view += CENTRE_VIEWS) {
        sum += exposures[view * EXPOSURE_WORDS + component] - rest;
    }
    barrier();
    reduce[lane] = sum;
    barrier();
    float drift = 0.0;
    for (uint s = 0u; s < CENTRE_VIEWS; ++s) {
        drift += reduce[12u * s + component];
    }
    drift /= float(views);
    for (uint view = slot; slot < CENTRE_VIEWS && view < views; view += CENTRE_VIEWS) {
        exposures[view * EXPOSURE_WORDS + component] -= drift;
    }
}

#else

void main() {
    uint tile = group_index();
    if (tile >= u.tiles_x * u.tiles_y || counters.stalled != 0u) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    uvec2 origin = uvec2(tile % u.tiles_x, tile / u.tiles_x) * 16u;
    if (!in_swath(origin.y)) {
        return;
    }
    uvec2 pixel = origin + uvec2(lane & 15u, lane >> 4);
    bool inside = pixel.x < u.width && pixel.y < u.height;
    uint index = pixel.y * u.width + pixel.x - swath_base;
    uint base = u.view * EXPOSURE_WORDS;
    vec4 row[3];
    for (uint r = 0u; r < 3u; ++r) {
        uint at = base + 4u * r;
        row[r] = vec4(exposures[at], exposures[at + 1u], exposures[at + 2u], exposures[at + 3u]);
    }
    vec4 x = inside ? image[index] : vec4(0.0);
#ifdef GRADIENT
    vec4 g = inside ? image_gradient[index] : vec4(0.0);
    if (inside) {
        image_gradient[index] = vec4(g.r * row[0].rgb + g.g * row[1].rgb + g.b * row[2].rgb, g.a);
    }
    for (uint k = 0u; k < 12u; ++k) {
        uint column = k & 3u;
        float sum = group_sum(g[k >> 2] * (column == 3u ? 1.0 : x[column]));
        if (lane == 0u) {
            exposure_sums[12u * tile + k] = sum;
        }
    }
#else
    if (inside) {
        vec4 one = vec4(x.rgb, 1.0);
        exposed_image[index] = vec4(dot(row[0], one), dot(row[1], one), dot(row[2], one), x.a);
    }
#endif
}

#endif
