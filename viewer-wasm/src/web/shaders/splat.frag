in vec2 offset;
flat in vec4 color;
uniform float point_px;
out vec4 blended;

void main() {
    float square = dot(offset, offset);
    if (point_px > 0.0) {
        if (square > 1.0) {
            discard;
        }
        blended = vec4(color.rgb, 1.0);
        return;
    }
    float alpha = min(0.99, color.a * exp(-0.5 * square));
    if (alpha < 1.0 / 255.0) {
        discard;
    }
    blended = vec4(color.rgb * alpha, alpha);
}
