// Lines and thumbnails of cameras in world space.
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 tint;
layout(location = 2) in vec3 place;  // texture coordinates and layer of a thumbnail
uniform mat3 world_to_camera;
uniform vec3 camera;
uniform vec2 size_px;
uniform vec2 focal;
uniform vec2 centre;
uniform float fade;  // what is nearer than this is not shown
out vec4 color;
out vec3 uv;
void main() {
    vec3 t = world_to_camera * (position - camera);
    vec2 clip = (focal * t.xy + centre * t.z) / size_px * 2.0 - t.z;
    // Only the near plane matters: z - 2 near is at least -w from near on.
    gl_Position = vec4(clip.x, -clip.y, t.z - 0.04, t.z);
    color = vec4(tint.rgb, tint.a * smoothstep(fade, 2.5 * fade, length(t)));
    uv = place;
}
