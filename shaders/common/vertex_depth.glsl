// How far a vertex is from the median depth of the pixel it lies in. Expects uniform blocks `u` and `tri` and the buffer
// `surface_depth`.

// False where the vertex does not count: out of view, no depth there, or too far from it.
bool depth_off(vec4 screen, out float off) {
    off = 0.0;
    vec2 pixel = floor((screen.xy + 0.5) / float(tri.samples));
    if (!(screen.z > u.near_z) || !all(greaterThanEqual(pixel, vec2(0.0))) ||
        !all(lessThan(pixel, vec2(u.width, u.height)))) {
        return false;
    }
    float median = surface_depth[uint(pixel.y) * u.width + uint(pixel.x)].x;
    off = screen.z - median;
    return median > 0.0 && abs(off) < tri.depth_most;
}
