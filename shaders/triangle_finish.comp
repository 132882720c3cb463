#version 450
#extension GL_GOOGLE_include_directive : require
// Gives what a triangle's incircle and normal owe to its corners; only where gradients are exact.
#include "common/group.glsl"
#include "common/step.glsl"

layout(local_size_x = 256) in;

#include "common/triangle_uniforms.glsl"
layout(set = 0, binding = 0, std430) readonly restrict buffer Uniforms { StepUniforms u; TriangleUniforms tri; };
layout(set = 0, binding = 1, std430) readonly restrict buffer CountersBlock { Counters counters; };
layout(set = 0, binding = 2, std430) readonly restrict buffer RecordCorners { uvec4 record_corners[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer VertexScreen { vec4 vertex_screen[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer GradientE { vec4 gradient_e[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer GradientF { vec4 gradient_f[]; };
layout(set = 0, binding = 6, std430) restrict buffer GradientA { vec4 gradient_a[]; };
layout(set = 0, binding = 7, std430) restrict buffer GradientB { vec4 gradient_b[]; };
layout(set = 0, binding = 8, std430) restrict buffer GradientC { vec4 gradient_c[]; };

#include "common/triangles.glsl"

// By place and depth of the corner at `at`, whose opposite edge goes from `next` to `before`: through the radius, twice the area
// over the perimeter, and through the corner's place in camera space.
vec3 by_corner(vec4 at, vec4 next, vec4 before, float area2, float perimeter, float turn, float by_radius, vec3 by_place) {
    vec2 opposite = before.xy - next.xy;
    vec2 by_area = -turn * vec2(opposite.y, -opposite.x);
    vec2 by_perimeter = normalize(at.xy - next.xy) + normalize(at.xy - before.xy);
    vec2 point = by_radius * (by_area - area2 / perimeter * by_perimeter) / perimeter;
    vec4 l = lens();
    point += by_place.xy * at.z / l.xy;
    return vec3(point, by_place.z + dot(by_place.xy, (at.xy - l.zw) / l.xy));
}

void main() {
    uint v = group_index() * 256u + gl_LocalInvocationIndex;
    if (v >= counters.visible) {
        return;
    }
    uvec3 corners = record_corners[v].xyz;
    vec4 a = vertex_screen[corners.x], b = vertex_screen[corners.y], c = vertex_screen[corners.z];
    vec3 p = unproject(a.xy, a.z), q = unproject(b.xy, b.z), r = unproject(c.xy, c.z);
    vec3 raw = cross(q - p, r - p);
    float size = length(raw);
    vec3 unit = raw / size;
    float towards = dot(raw, p + q + r) > 0.0 ? -1.0 : 1.0;
    vec3 g = towards * gradient_f[v].xyz;
    vec3 by_raw = (g - unit * dot(unit, g)) / size;
    vec3 by_first = cross(r - p, by_raw);
    vec3 by_second = cross(by_raw, q - p);
    vec2 e0 = b.xy - a.xy, e1 = c.xy - b.xy, e2 = a.xy - c.xy;
    float signed_area = e0.x * -e2.y + e0.y * e2.x;
    float turn = signed_area < 0.0 ? -1.0 : 1.0;
    float perimeter = length(e0) + length(e1) + length(e2);
    float by_radius = gradient_e[v].w;
    float area2 = abs(signed_area);
    gradient_a[v].xyz += by_corner(a, b, c, area2, perimeter, turn, by_radius, -(by_first + by_second));
    gradient_b[v].xyz += by_corner(b, c, a, area2, perimeter, turn, by_radius, by_first);
    gradient_c[v].xyz += by_corner(c, a, b, area2, perimeter, turn, by_radius, by_second);
}
