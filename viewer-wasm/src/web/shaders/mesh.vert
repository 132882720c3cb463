// Corners of triangles in world space; axes of the camera as for splats.
layout(location = 0) in vec3 position;
layout(location = 1) in vec2 uv;
layout(location = 2) in vec4 tint;
layout(location = 3) in vec3 normal;
uniform mat3 world_to_camera;
uniform vec3 camera;
uniform vec2 size_px;
uniform vec2 focal;
uniform vec2 centre;
uniform float near;
out vec3 place;
out vec3 facing;
out vec3 corner;
out vec2 at;
out vec3 color;
void main() {
    place = world_to_camera * (position - camera);
    facing = world_to_camera * normal;
    at = uv;
    color = tint.rgb;
    corner = vec3(gl_VertexID % 3 == 0, gl_VertexID % 3 == 1, gl_VertexID % 3 == 2);
    vec2 clip = (focal * place.xy + centre * place.z) / size_px * 2.0 - place.z;
    gl_Position = vec4(clip.x, -clip.y, place.z - 2.0 * near, place.z);
}
