// Puts the picture over its background, right way up; depths, counts and differences become colours of a scale.
uniform sampler2D picture;
uniform sampler2D other; // what it is compared with
uniform vec3 background;
uniform vec3 other_background;
uniform bool flip;
uniform int style;
uniform float gain;      // on the difference of both; 0 shows the picture
uniform vec2 range;      // least and most of the scale
uniform vec3 ramp[9];    // the scale of error_map.rs
in vec2 uv;
out vec4 color;

vec3 scale_color(float share) {
    float at = clamp(share, 0.0, 1.0) * 8.0;
    int low = min(int(at), 7);
    return mix(ramp[low], ramp[low + 1], at - float(low));
}

vec3 shown(vec4 c, vec3 behind) {
    return clamp(c.rgb + (1.0 - c.a) * behind, 0.0, 1.0);
}

void main() {
    vec2 at = flip ? vec2(uv.x, 1.0 - uv.y) : uv;
    vec4 c = texture(picture, at);
    color = vec4(shown(c, background), 1.0);
    if (gain > 0.0) {
        vec3 by = abs(color.rgb - shown(texture(other, at), other_background));
        color.rgb = scale_color(gain * (by.r + by.g + by.b) / 3.0);
    } else if (style == DEPTH) {
        // Near is bright, and what is hardly covered dark.
        float depth = c.r / max(c.a, 1e-4);
        color.rgb = scale_color(1.0 - (depth - range.x) / (range.y - range.x)) * smoothstep(0.02, 0.3, c.a);
    } else if (style == NORMALS) {
        color.rgb = c.rgb;
    } else if (style == COUNTS) {
        color.rgb = scale_color(log2(1.0 + c.r) / log2(1.0 + range.y));
    }
}
