#version 450
#extension GL_GOOGLE_include_directive : require
// kiln-variant: -
// kiln-variant: column COLUMN=1
// kiln-variant: surface SURFACE=1
// kiln-variant: column_surface COLUMN=1 SURFACE=1
// Blends the sorted splats of a tile front to back (Kerbl et al. 2023, eq. 3).
//
// Plain variant: 256 threads, one pixel each; splats are staged in shared memory together with the blocks of 8x4 pixels
// they reach, so that a subgroup (32 lanes at most) turns to those of its block only. Column variant: 16 threads, one
// column of 16 pixels each, and only the rows a splat reaches; no barriers, made for devices with short subgroups.
// `surface` variants also blend the planes and depths of splats, from which `surface_depth` makes depth and normals.
#ifdef COLUMN
#extension GL_EXT_control_flow_attributes : require
#else
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
#endif
#include "common/group.glsl"
#include "common/step.glsl"
#include "common/raster.glsl"

#ifdef COLUMN
layout(local_size_x = 16) in;
#else
layout(local_size_x = 256) in;
#endif
layout(constant_id = 0) const uint OWNERS = 0u;
#ifdef COLUMN
layout(constant_id = 1) const uint UNROLLED = 0u;  // several splats a turn, see `common/turns.glsl`
#endif

layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; };
layout(set = 0, binding = 1, std430) restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer TileRanges { uvec2 tile_ranges[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Payloads { uint payloads[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer Owners { uint owners[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer SplatPosition { vec4 splat_position[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer SplatConic { vec4 splat_conic[]; };
layout(set = 0, binding = 7, std430) readonly restrict buffer SplatColor { vec4 splat_color[]; };
layout(set = 0, binding = 8, std430) writeonly restrict buffer Image { vec4 image[]; };          // rgb, final T
layout(set = 0, binding = 9, std430) writeonly restrict buffer LastContributor { uint last_contributor[]; };

layout(push_constant) uniform Push {
    uint swath_begin;  // pixels that rows of this swath begin at
    uint swath_end;    // one past the last
    uint swath_base;   // pixel that bound tensors begin with
};
#include "common/swath.glsl"
#ifdef SURFACE
layout(set = 0, binding = 10, std430) readonly restrict buffer SplatPlane { vec4 splat_plane[]; };
layout(set = 0, binding = 11, std430) writeonly restrict buffer SurfacePlane { vec4 surface_plane[]; };  // sum w n, sum w d
layout(set = 0, binding = 12, std430) writeonly restrict buffer SurfaceDepth { vec2 surface_depth[]; };  // median z, sum w z
#include "common/surface.glsl"
#endif

uint splat_of(uint at) {
    uint payload = payloads[at];
    return OWNERS != 0u ? owners[payload] : payload;
}

#include "common/turns.glsl"

#ifdef COLUMN
#include "common/columns.glsl"

const uint PER_TURN = UNROLLED != 0u ? 8u : 1u;

void main() {
    uint tile = u.band_begin + group_index();
    if (tile >= u.band_end || counters.stalled != 0u) {
        return;
    }
    uvec2 origin = uvec2(tile % u.tiles_x, tile / u.tiles_x) * 16u;
    if (!in_swath(origin.y)) {
        return;
    }
    uint x = origin.x + gl_LocalInvocationIndex;
    uint rows = min(16u, u.height - origin.y);
    uvec2 range = tile_ranges[tile];
    float transmittance[16];
    vec3 color[16];
    uint last[16];
    vec2 center[16];
#ifdef SURFACE
    vec4 plane_sum[16];
    vec2 depth_sum[16];
#define CLEAR_SURFACE(R) plane_sum[R] = vec4(0.0); depth_sum[R] = vec2(0.0);
    EACH_ROW(CLEAR_SURFACE)
#define BLEND_SURFACE(R) { \
            float weight = alpha * transmittance[R]; \
            plane_sum[R] += weight * plane; \
            depth_sum[R].y += weight * depth; \
            bool median = transmittance[R] > 0.5 && next <= 0.5; \
            depth_sum[R].x = median ? splat_depth(plane, depth, pixel_ray(center[R])) : depth_sum[R].x; \
        }
#else
#define BLEND_SURFACE(R)
#endif
#define CLEAR(R) transmittance[R] = 1.0; color[R] = vec3(0.0); last[R] = 0u; \
    center[R] = vec2(x, origin.y + R);
    EACH_ROW(CLEAR)
    uint open = 0xffffu & ((1u << rows) - 1u);  // rows still taking splats
    if (x >= u.width) {
        open = 0u;
    }
#define BLEND(R) { \
            vec2 d = position.xy - center[R]; \
            float power = scaled_power(scaled, d); \
            float alpha = min(ALPHA_MAX, position.w * exp2(power)); \
            float next = transmittance[R] * (1.0 - alpha); \
            bool counts = is_listed && (open & (1u << R)) != 0u && power <= 0.0 && alpha >= ALPHA_MIN; \
            bool stops = counts && next < TRANSMITTANCE_STOP; \
            open = stops ? open & ~(1u << R) : open; \
            if (counts && !stops) { \
                BLEND_SURFACE(R) \
                color[R] += rgb * (alpha * transmittance[R]); \
                transmittance[R] = next; \
                last[R] = at - range.x + 1u; \
            } \
        }
    for (uint first = range.x; first < range.y && open != 0u; first += PER_TURN) {
        [[unroll]] for (uint k = 0u; k < PER_TURN; ++k) {
            uint at = first + k;
            bool is_listed = UNROLLED == 0u || at < range.y;
            uint v = splat_of(UNROLLED == 0u ? at : min(at, range.y - 1u));
            vec4 position = splat_position[v];
            vec3 conic = splat_conic[v].xyz;
            vec3 rgb = splat_color[v].rgb;
#ifdef SURFACE
            vec4 plane = splat_plane[v];
            float depth = splat_conic[v].w;
#endif
            ivec2 reach = row_reach(position, conic, x, origin.y, rows);
            vec3 scaled = scaled_conic(conic);
            EACH_REACHED_ROW(BLEND)
        }
    }
    if (x < u.width) {
#define STORE(R) if (R < rows) { \
            uint index = (origin.y + R) * u.width + x - swath_base; \
            image[index] = vec4(color[R] + transmittance[R] * u.background.rgb, transmittance[R]); \
            last_contributor[index] = last[R]; \
        }
        EACH_ROW(STORE)
#ifdef SURFACE
#define STORE_SURFACE(R) if (R < rows) { \
            uint index = (origin.y + R) * u.width + x - swath_base; \
            surface_plane[index] = plane_sum[R]; \
            surface_depth[index] = depth_sum[R]; \
        }
        EACH_ROW(STORE_SURFACE)
#endif
    }
    check_loops();
}

#else
#define BLOCK_ROWS 4u
#include "common/blocks.glsl"

#ifdef SURFACE
layout(set = 0, binding = 13, std430) readonly restrict buffer TileOrder { uint tile_order[]; };
#else
layout(set = 0, binding = 10, std430) readonly restrict buffer TileOrder { uint tile_order[]; };
#endif

const uint STAGED = 256u;
#include "common/staging.glsl"

shared uint done_count;
#ifdef SURFACE
shared vec4 staged_plane[STAGED];
shared float staged_depth[STAGED];
#endif

// Alpha of a staged splat at a sample; zero beyond its centre's exponent, which only rounding can pass.
float alpha_at(uint k, vec2 center) {
    vec4 position = staged_position[k];
    float power = scaled_power(staged_conic[k].xyz, position.xy - center);
    return power > 0.0 ? 0.0 : min(ALPHA_MAX, position.z * exp2(power));
}

void main() {
    uint group = group_index();
    if (group >= u.band_end - u.band_begin || counters.stalled != 0u) {
        return;
    }
    uint tile = tile_order[group];
    if (!in_swath(tile / u.tiles_x * 16u)) {
        return;
    }
    uint lane = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
    uint block = 1u << (lane >> 5);
    uvec2 origin = uvec2(tile % u.tiles_x, tile / u.tiles_x) * 16u;
    uvec2 pixel = origin + block_pixel(lane);
    uint index = pixel.y * u.width + pixel.x - swath_base;
    bool inside = pixel.x < u.width && pixel.y < u.height;
    vec2 center = vec2(pixel);
    uvec2 range = tile_ranges[tile];
    float transmittance = 1.0;
    vec3 color = vec3(0.0);
    uint last = 0u;
    bool done = !inside;
    bool counted = false;
#ifdef SURFACE
    vec4 plane_sum = vec4(0.0);
    vec2 depth_sum = vec2(0.0);
    vec3 ray = pixel_ray(center);
#define BLEND_SURFACE(K, ALPHA) { \
            float weight = ALPHA * transmittance; \
            plane_sum += weight * staged_plane[K]; \
            depth_sum.y += weight * staged_depth[K]; \
            if (transmittance > 0.5 && next <= 0.5) { \
                depth_sum.x = splat_depth(staged_plane[K], staged_depth[K], ray); \
            } \
        }
#else
#define BLEND_SURFACE(K, ALPHA)
#endif
    if (lane == 0u) {
        done_count = 0u;
    }
    for (uint base = range.x; base < range.y; base += 256u) {
        barrier();
        if (done && !counted) {
            atomicAdd(done_count, 1u);
            counted = true;
        }
        barrier();
        if (done_count == 256u) {
            break;
        }
        uint count = min(256u, range.y - base);
        if (lane < count) {
            uint v = splat_of(base + lane);
            stage(lane, v, origin);
#ifdef SURFACE
            staged_plane[lane] = splat_plane[v];
            staged_depth[lane] = splat_conic[v].w;
#endif
        }
        barrier();
        for (uint first = 0u; first < count && !subgroupAll(done); first += gl_SubgroupSize) {
            uint mine = first + gl_SubgroupInvocationID;
            uint wanted = subgroupBallot(mine < count && (staged_blocks[mine] & block) != 0u).x;
            // Two at a time: what does not depend on the transmittance in front is on its way for both at once.
            while (wanted != 0u) {
                uint k0 = first + uint(findLSB(wanted));
                wanted &= wanted - 1u;
                bool two = wanted != 0u;
                uint k1 = two ? first + uint(findLSB(wanted)) : k0;
                wanted &= wanted - 1u;
                float alpha0 = alpha_at(k0, center);
                float alpha1 = two ? alpha_at(k1, center) : 0.0;
                if (!done && alpha0 >= ALPHA_MIN) {
                    float next = transmittance * (1.0 - alpha0);
                    if (next < TRANSMITTANCE_STOP) {
                        done = true;
                    } else {
                        BLEND_SURFACE(k0, alpha0)
                        color += staged_color(k0) * (alpha0 * transmittance);
                        transmittance = next;
                        last = base - range.x + k0 + 1u;
                    }
                }
                if (!done && alpha1 >= ALPHA_MIN) {
                    float next = transmittance * (1.0 - alpha1);
                    if (next < TRANSMITTANCE_STOP) {
                        done = true;
                    } else {
                        BLEND_SURFACE(k1, alpha1)
                        color += staged_color(k1) * (alpha1 * transmittance);
                        transmittance = next;
                        last = base - range.x + k1 + 1u;
                    }
                }
            }
        }
    }
    if (inside) {
        image[index] = vec4(color + transmittance * u.background.rgb, transmittance);
        last_contributor[index] = last;
#ifdef SURFACE
        surface_plane[index] = plane_sum;
        surface_depth[index] = depth_sum;
#endif
    }
    check_loops();
}

#endif
