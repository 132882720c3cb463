// Points of the depth map around a pixel that has four neighbours with a depth, camera space. Expects `surface.glsl`, a
// uniform block `u` and the buffer `depth_map`.

vec3 point_at(uvec2 pixel) {
    return depth_map[pixel.y * u.width + pixel.x].x * pixel_ray(vec2(pixel));
}

// From the pixel's left neighbour to its right one.
vec3 across_at(uvec2 pixel) {
    return point_at(pixel + uvec2(1u, 0u)) - point_at(pixel - uvec2(1u, 0u));
}

// From the neighbour above to that below.
vec3 down_at(uvec2 pixel) {
    return point_at(pixel + uvec2(0u, 1u)) - point_at(pixel - uvec2(0u, 1u));
}

// Along the pixel's normal or against it.
vec3 crossing(uvec2 pixel) {
    return cross(across_at(pixel), down_at(pixel));
}
