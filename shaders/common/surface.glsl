// Where a pixel's ray meets planes of splats. Expects `step.glsl` and a uniform block `u`.

// A plane counts where the ray meets it at no flatter an angle: 0.05 is 87 degrees from its normal.
const float LEAST_SLOPE = 0.05;
// Light that must be blocked for a pixel to have a depth.
const float LEAST_COVERAGE = 0.5;

// Kinds of depth.
const uint DEPTH_PLANE = 0u;     // where the ray meets the blended plane
const uint DEPTH_MEDIAN = 1u;    // where half the light is blocked
const uint DEPTH_EXPECTED = 2u;  // mean of the splats' depths by their blending weights
const uint DEPTH_BLENDED = 3u;   // their sum, whatever the coverage; planes are with `FLAG_PLANE_DEPTHS`

// Ray through the centre of a pixel, camera space, z = 1.
vec3 pixel_ray(vec2 pixel) {
    return vec3((pixel - u.intrinsics.zw) / u.intrinsics.xy, 1.0);
}

// Depth at which the ray meets the plane of one splat; that of the splat's centre where the ray hardly meets it.
float splat_depth(vec4 plane, float center, vec3 ray) {
    float slope = -dot(plane.xyz, ray);
    float z = plane.w / slope;
    return slope > LEAST_SLOPE && z > 0.0 ? z : center;
}
