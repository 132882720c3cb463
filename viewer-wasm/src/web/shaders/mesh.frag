uniform sampler2D picture;
uniform bool textured;
uniform bool shaded;   // by a light at the camera
uniform bool normals;  // their directions as colours
uniform bool wires;
uniform float alpha;
in vec3 place;
in vec3 facing;
in vec3 corner;
in vec2 at;
in vec3 color;
out vec4 blended;
void main() {
    vec3 face = normalize(cross(dFdx(place), dFdy(place)));
    vec3 n = dot(facing, facing) > 0.25 ? normalize(facing) : face;
    // Both sides are seen.
    n = dot(n, place) > 0.0 ? -n : n;
    vec3 rgb = textured ? texture(picture, at).rgb : color;
    if (normals) {
        rgb = 0.5 + 0.5 * vec3(n.x, -n.y, -n.z);
    } else if (shaded) {
        rgb = vec3(0.85) * (0.2 + 0.8 * dot(n, -normalize(place)));
    }
    if (wires) {
        vec3 px = corner / fwidth(corner);
        vec3 width = fwidth(corner);
        // Triangles of few pixels would be nothing but lines.
        float seen = smoothstep(2.0, 7.0, 1.0 / max(width.x, max(width.y, width.z)));
        float line = 1.0 - smoothstep(0.6, 1.6, min(px.x, min(px.y, px.z)));
        rgb = mix(rgb, dot(rgb, vec3(0.3, 0.6, 0.1)) > 0.45 ? vec3(0.05) : vec3(0.95), line * seen);
    }
    blended = vec4(rgb, alpha);
}
