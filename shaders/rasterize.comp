#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: column COLUMN=1
// Blends the sorted splats of a tile front to back (Kerbl et al. 2023, eq. 3).
//
// Plain variant: 256 threads, one pixel each, splats staged in shared memory; threads of 8x4 pixels are neighbours so
// that a whole subgroup skips splats that miss it. Column variant: 16 threads, one column of 16 pixels each, and only the
// rows a splat reaches; no barriers, made for devices with short subgroups.
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/raster.glsl"

#ifdef COLUMN
layout(local_size_x = 16) in;
#else
layout(local_size_x = 256) in;
#endif
layout(constant_id = 0) const uint OWNERS = 0u;

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer TileRanges { uvec2 tile_ranges[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Payloads { uint payloads[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer Owners { uint owners[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer SplatPosition { vec4 splat_position[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer SplatConic { vec4 splat_conic[]; };
layout(set = 0, binding = 7, std430) readonly restrict buffer SplatColor { vec4 splat_color[]; };
layout(set = 0, binding = 8, std430) writeonly restrict buffer Image { vec4 image[]; };          // rgb, final T
layout(set = 0, binding = 9, std430) writeonly restrict buffer LastContributor { uint last_contributor[]; };

uint splat_of(uint at) {
    uint payload = payloads[at];
    return OWNERS != 0u ? owners[payload] : payload;
}

vec2 sample_point(uvec2 pixel, uint index) {
    vec2 at = vec2(pixel);
    if ((u.flags & FLAG_RAY_JITTER) != 0u) {
        at += pixel_jitter(u.seed, u.iteration, index);
    }
    return at;
}

#ifdef COLUMN

void main() {
    uint tile = u.band_begin + group_index();
    if (tile >= u.band_end || counters.stalled != 0u) {
        return;
    }
    uvec2 origin = uvec2(tile % u.tiles_x, tile / u.tiles_x) * 16u;
    uint x = origin.x + gl_LocalInvocationIndex;
    uint rows = min(16u, u.height - origin.y);
    uvec2 range = tile_ranges[tile];
    float transmittance[16];
    vec3 color[16];
    uint last[16];
    for (uint r = 0u; r < 16u; ++r) {
        transmittance[r] = 1.0;
        color[r] = vec3(0.0);
        last[r] = 0u;
    }
    uint open = 0xffffu & ((1u << rows) - 1u);  // rows still taking splats
    if (x >= u.width) {
        open = 0u;
    }
    float slack = (u.flags & FLAG_RAY_JITTER) != 0u ? 1.0 : 0.0;
    for (uint at = range.x; at < range.y && open != 0u; ++at) {
        uint v = splat_of(at);
        vec4 position = splat_position[v];
        vec4 conic = splat_conic[v];
        vec3 rgb = splat_color[v].rgb;
        float det = max(conic.x * conic.z - conic.y * conic.y, 1e-37);
        float reach = sqrt(max(2.0 * log(255.0 * position.w), 0.0) * conic.x / det) * 1.001 + 0.01 + slack;
        // Clamped before the conversion: a reach may exceed every integer.
        float above = position.y - float(origin.y);
        int top = int(clamp(ceil(above - reach), 0.0, 16.0));
        int bottom = int(clamp(floor(above + reach), -1.0, float(rows) - 1.0));
        for (int r = top; r <= bottom; ++r) {
            if ((open & (1u << uint(r))) == 0u) {
                continue;
            }
            uvec2 pixel = uvec2(x, origin.y + uint(r));
            vec2 d = position.xy - sample_point(pixel, pixel.y * u.width + x);
            float power = splat_power(conic.xyz, d);
            float alpha = min(ALPHA_MAX, position.w * exp(power));
            if (power > 0.0 || alpha < ALPHA_MIN) {
                continue;
            }
            float next = transmittance[r] * (1.0 - alpha);
            if (next < TRANSMITTANCE_STOP) {
                open &= ~(1u << uint(r));
                continue;
            }
            color[r] += rgb * (alpha * transmittance[r]);
            transmittance[r] = next;
            last[r] = at - range.x + 1u;
        }
    }
    if (x < u.width) {
        for (uint r = 0u; r < rows; ++r) {
            uint index = (origin.y + r) * u.width + x;
            image[index] = vec4(color[r] + transmittance[r] * u.background.rgb, transmittance[r]);
            last_contributor[index] = last[r];
        }
    }
}

#else

shared vec4 batch_position[256];
shared vec3 batch_conic[256];
shared vec3 batch_color[256];
shared uint done_count;

void main() {
    uint tile = u.band_begin + group_index();
    if (tile >= u.band_end || counters.stalled != 0u) {
        return;
    }
    uint lane = gl_LocalInvocationIndex;
    uvec2 origin = uvec2(tile % u.tiles_x, tile / u.tiles_x) * 16u;
    uvec2 pixel = origin + uvec2((lane >> 5 & 1u) * 8u + (lane & 7u), (lane >> 6) * 4u + (lane >> 3 & 3u));
    uint index = pixel.y * u.width + pixel.x;
    bool inside = pixel.x < u.width && pixel.y < u.height;
    vec2 center = sample_point(pixel, index);
    uvec2 range = tile_ranges[tile];
    float transmittance = 1.0;
    vec3 color = vec3(0.0);
    uint last = 0u;
    bool done = !inside;
    if (lane == 0u) {
        done_count = 0u;
    }
    barrier();
    if (done) {
        atomicAdd(done_count, 1u);
    }
    for (uint base = range.x; base < range.y; base += 256u) {
        barrier();
        if (done_count == 256u) {
            break;
        }
        uint count = min(256u, range.y - base);
        if (lane < count) {
            uint v = splat_of(base + lane);
            batch_position[lane] = splat_position[v];
            batch_conic[lane] = splat_conic[v].xyz;
            batch_color[lane] = splat_color[v].rgb;
        }
        barrier();
        if (!done) {
            for (uint k = 0u; k < count; ++k) {
                vec4 position = batch_position[k];
                float power = splat_power(batch_conic[k], position.xy - center);
                float alpha = min(ALPHA_MAX, position.w * exp(power));
                if (power > 0.0 || alpha < ALPHA_MIN) {
                    continue;
                }
                float next = transmittance * (1.0 - alpha);
                if (next < TRANSMITTANCE_STOP) {
                    done = true;
                    atomicAdd(done_count, 1u);
                    break;
                }
                color += batch_color[k] * (alpha * transmittance);
                transmittance = next;
                last = base - range.x + k + 1u;
            }
        }
    }
    if (inside) {
        image[index] = vec4(color + transmittance * u.background.rgb, transmittance);
        last_contributor[index] = last;
    }
}

#endif
