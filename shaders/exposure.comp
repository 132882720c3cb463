#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: gradient GRADIENT=1
// kiln-variant: update UPDATE=1
// Colours of the step's photo as its camera takes them. Of the photo: an affine map, e(x) = A x + b, its exposure and white balance. Of
// the camera that took it: vignetting, V(r) = 1 + a1 (r^2 - m1) + a2 (r^4 - m2) + a3 (r^6 - m3), r = 1 at the corner farthest from the
// principal point and m what the powers are on average, so that it darkens corners and no picture; and a response per channel,
// f(z) = z + b1 t (1 - t) + b2 t (1 - t) (1 - 2 t), t = z within [0, 1]. The photo shows f(V e(x)).
//
// Plain variant, one tile a group: the rendered image as the photo would show it. Gradient variant: the gradient of the shown image
// becomes that of the rendered one, and each tile's sums of the derivatives by A and b and by what is the camera's are stored. Update
// variant, one group: adds the tiles in a fixed order and takes an Adam step (Kingma and Ba 2015) towards less loss. Every CENTRE_EVERY
// iterations it also takes from all maps, and from all responses, what their mean differs from doing nothing.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

// Of a view: A and b row by row, three rows of four; first moments; second moments; number of steps; where its camera's words begin;
// the diagonal of A that it is held to; unused.
const uint EXPOSURE_WORDS = 44u;  // words per view: the map, two moments, steps, its camera's place, what it is held to, three unused
const uint CAMERA_WORDS = 32u;  // words per camera: vignetting and response, two moments, the number of steps, and four unused
const uint CAMERA_VALUES = 9u;  // numbers of a camera: three of vignetting, one of the response per channel, and another
const uint EXPOSURE_SUMS = 21u;  // sums of a tile: of the map and of the camera
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
    uint cameras;     // cameras that took them; one alone has no response of its own: colours of the model take it up
    uint cameras_at;  // word that theirs begin at
    float camera_rate;      // learning rate of a camera's numbers, in units of the maps'
    float camera_hold;      // weight in the loss of half the squared distance of a camera's numbers from doing nothing
    float most_vignetting;  // largest size of a number of vignetting
    float most_response;    // largest size of a number of a response
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

#ifdef GRADIENT
shared vec4 reduce[256];

vec4 group_sum(vec4 value) {
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

// The step of the number at `at` whose moments are `apart` and twice that behind it.
float stepped(uint at, uint apart, float gradient, float rate, float steps) {
    float m = u.beta1 * exposures[at + apart] + (1.0 - u.beta1) * gradient;
    float v = u.beta2 * exposures[at + 2u * apart] + (1.0 - u.beta2) * gradient * gradient;
    float first = 1.0 - pow(u.beta1, steps);
    float second = 1.0 - pow(u.beta2, steps);
    exposures[at + apart] = m;
    exposures[at + 2u * apart] = v;
    return exposures[at] - rate * (m / first) / (sqrt(v / second) + 1e-8);
}

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
    float held = component % 5u == 0u ? exposures[base + 38u + component / 5u] : 0.0;
    float gradient = 0.0;
    float of_camera = 0.0;
    for (uint k = 0u; k < EXPOSURE_SUMS; ++k) {
        float sum = 0.0;
        for (uint tile = lane; tile < tiles; tile += 256u) {
            sum += exposure_sums[EXPOSURE_SUMS * tile + k];
        }
        sum = group_sum(sum);
        if (k < 12u && lane == home + k) {
            gradient = sum;
        }
        if (k >= 12u && lane == k - 12u) {
            of_camera = sum;
        }
    }
    uint camera = uint(exposures[base + 37u]);
    float steps = exposures[base + 36u] + 1.0;
    float camera_steps = exposures[camera + 27u] + 1.0;
    barrier();
    if (lane >= home && lane < home + 12u) {
        uint at = base + component;
        gradient += u.exposure_hold * (exposures[at] - held);
        exposures[at] = stepped(at, 12u, gradient, u.camera_position.w, steps);
    }
    if (lane == home) {
        exposures[base + 36u] = steps;
    }
    // A lane has the same number of all cameras.
    bool is_response = lane >= 3u && lane < CAMERA_VALUES;
    if (lane < 3u || (is_response && cameras > 1u)) {
        uint at = camera + lane;
        float most = is_response ? most_response : most_vignetting;
        of_camera += camera_hold * exposures[at];
        float value = stepped(at, CAMERA_VALUES, of_camera, camera_rate * u.camera_position.w, camera_steps);
        exposures[at] = clamp(value, -most, most);
    }
    if (lane == 0u) {
        exposures[camera + 27u] = camera_steps;
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
    if (is_response && cameras > 1u) {
        float of_all = 0.0;
        for (uint k = 0u; k < cameras; ++k) {
            of_all += exposures[cameras_at + k * CAMERA_WORDS + lane];
        }
        of_all /= float(cameras);
        for (uint k = 0u; k < cameras; ++k) {
            exposures[cameras_at + k * CAMERA_WORDS + lane] -= of_all;
        }
    }
}

#else

// Powers of the distance from the principal point less what they are on average over a picture, 1 at the corner farthest from it.
vec3 vignette(uvec2 pixel) {
    vec2 center = u.intrinsics.zw;
    vec2 size = vec2(u.width, u.height) - 1.0;
    vec2 farthest = max(center, size - center) + 0.5;
    vec2 off = vec2(pixel) - center;
    float r2 = dot(off, off) / dot(farthest, farthest);
    return vec3(r2, r2 * r2, r2 * r2 * r2) - vec3(1.0 / 3.0, 0.16, 0.09);
}

vec3 three(uint at) {
    return vec3(exposures[at], exposures[at + 1u], exposures[at + 2u]);
}

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
    uint camera = uint(exposures[base + 37u]);
    vec4 row[3];
    for (uint r = 0u; r < 3u; ++r) {
        uint at = base + 4u * r;
        row[r] = vec4(exposures[at], exposures[at + 1u], exposures[at + 2u], exposures[at + 3u]);
    }
    vec4 x = inside ? image[index] : vec4(0.0);
    vec4 one = vec4(x.rgb, 1.0);
    vec3 mapped = vec3(dot(row[0], one), dot(row[1], one), dot(row[2], one));
    vec3 powers = vignette(pixel);
    float bright = 1.0 + dot(three(camera), powers);
    vec3 z = bright * mapped;
    vec3 t = clamp(z, 0.0, 1.0);
    vec3 hump = t * (1.0 - t);
    vec3 bend = hump * (1.0 - 2.0 * t);
    vec3 response = three(camera + 3u);
    vec3 second = three(camera + 6u);
#ifdef GRADIENT
    vec4 g = inside ? image_gradient[index] : vec4(0.0);
    vec3 slope = 1.0 + response * (1.0 - 2.0 * t) + second * (1.0 - 6.0 * hump);
    vec3 within = vec3(greaterThan(z, vec3(0.0))) * vec3(lessThan(z, vec3(1.0)));
    vec3 of_z = g.rgb * mix(vec3(1.0), slope, within);
    vec3 of_mapped = bright * of_z;
    if (inside) {
        vec3 of_image = of_mapped.r * row[0].rgb + of_mapped.g * row[1].rgb + of_mapped.b * row[2].rgb;
        image_gradient[index] = vec4(of_image, g.a);
    }
    for (uint r = 0u; r < 3u; ++r) {
        vec4 sum = group_sum(of_mapped[r] * one);
        if (lane < 4u) {
            exposure_sums[EXPOSURE_SUMS * tile + 4u * r + lane] = sum[lane];
        }
    }
    vec3 parts[3] = {dot(of_z, mapped) * powers, g.rgb * hump, g.rgb * bend};
    for (uint r = 0u; r < 3u; ++r) {
        vec4 sum = group_sum(vec4(parts[r], 0.0));
        if (lane < 3u) {
            exposure_sums[EXPOSURE_SUMS * tile + 12u + 3u * r + lane] = sum[lane];
        }
    }
#else
    if (inside) {
        exposed_image[index] = vec4(z + response * hump + second * bend, x.a);
    }
#endif
}

#endif
