// Puts the picture over its background, right way up; depths and counts become colours of a scale.
uniform sampler2D picture;
uniform vec3 background;
uniform bool flip;
uniform int style;
uniform vec2 range;   // least and most of the scale
uniform vec3 ramp[9]; // the scale of error_map.rs
in vec2 uv;
out vec4 color;

vec3 scale_color(float share) {
    float at = clamp(share, 0.0, 1.0) * 8.0;
    int low = min(int(at), 7);
    return mix(ramp[low], ramp[low + 1], at - float(low));
}

void main() {
    vec4 c = texture(picture, flip ? vec2(uv.x, 1.0 - uv.y) : uv);
    color = vec4(c.rgb + (1.0 - c.a) * background, 1.0);
    if (style == DEPTH) {
        // Near is bright, and what is hardly covered dark.
        float depth = c.r / max(c.a, 1e-4);
        color.rgb = scale_color(1.0 - (depth - range.x) / (range.y - range.x)) * smoothstep(0.02, 0.3, c.a);
    } else if (style == NORMALS) {
        color.rgb = c.rgb;
    } else if (style == COUNTS) {
        color.rgb = scale_color(log2(1.0 + c.r) / log2(1.0 + range.y));
    }
}
