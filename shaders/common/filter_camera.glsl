// A training camera in the table of all of them.
#include "lens.glsl"

struct FilterCamera {
    vec4 row0;        // first row of the world-to-camera rotation, and translation
    vec4 row1;        // second row
    vec4 row2;        // third row
    vec4 intrinsics;  // fx, fy, cx, cy, px; pixel centres on integers
    vec4 size;        // width and height, px; near plane, world units; largest stretch
    vec4 lens_radial;    // of a fisheye, see `lens.glsl`
    vec4 lens_sideways;  // likewise
    vec4 lens_range;     // likewise; 0 for a pinhole
};

// Where a point in the camera's axes is in its picture, px in the convention where the image spans [0, W], and its depth: its
// distance where the camera has a lens. Depth 0 when it is too near or beyond what is drawn.
vec3 seen_by(FilterCamera c, vec3 p) {
    Lens lens = Lens(c.lens_radial, c.lens_sideways, c.lens_range);
    bool pinhole = lens.range.x == 0.0;
    float depth = pinhole ? p.z : length(p);
    if (!(depth > c.size.z) || (!pinhole && angle_from_axis(length(p.xy), p.z) > lens.range.w)) {
        return vec3(0.0);
    }
    vec2 place = pinhole ? c.intrinsics.xy * p.xy / p.z : c.intrinsics.xy * lens_place(lens, p);
    return vec3(place + c.intrinsics.zw + 0.5, depth);
}
