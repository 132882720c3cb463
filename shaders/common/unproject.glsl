// Between camera and world. Expects `step.glsl` and a uniform block `u`.

// World point of a point in camera space.
vec3 world_point(vec3 p) {
    vec3 from = p - vec3(u.view_row0.w, u.view_row1.w, u.view_row2.w);
    return from.x * u.view_row0.xyz + from.y * u.view_row1.xyz + from.z * u.view_row2.xyz;
}

// Camera-space point of a point in the world.
vec3 camera_point(vec3 x) {
    return vec3(dot(u.view_row0.xyz, x) + u.view_row0.w, dot(u.view_row1.xyz, x) + u.view_row1.w,
                dot(u.view_row2.xyz, x) + u.view_row2.w);
}

// Where a point in camera space is on the image, pixels, pixel centres on integers.
vec2 image_point(vec3 p) {
    return u.intrinsics.xy * p.xy / p.z + u.intrinsics.zw;
}

// The pixel that a point of the image is in; false beyond the image.
bool pixel_of(vec2 point, out uint at) {
    vec2 pixel = floor(point + 0.5);
    bool inside = all(greaterThanEqual(pixel, vec2(0.0))) && all(lessThan(pixel, vec2(u.width, u.height)));
    uvec2 p = inside ? uvec2(pixel) : uvec2(0u);
    at = p.y * u.width + p.x;
    return inside;
}
