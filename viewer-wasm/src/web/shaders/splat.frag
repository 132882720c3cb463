in vec2 offset;
flat in vec4 color;
uniform int style;
out vec4 blended;

void main() {
    float square = dot(offset, offset);
    if (style == POINTS || style == ELLIPSOIDS) {
        if (square > 1.0) {
            discard;
        }
        // An ellipsoid is darker towards its edge.
        blended = vec4(color.rgb * (style == POINTS ? 1.0 : 0.35 + 0.65 * sqrt(1.0 - square)), 1.0);
        return;
    }
    float alpha = min(0.99, color.a * exp(-0.5 * square));
    if (alpha < 1.0 / 255.0) {
        discard;
    }
    // Counts are added up.
    blended = style == COUNTS ? vec4(1.0) : vec4(color.rgb * alpha, alpha);
}
