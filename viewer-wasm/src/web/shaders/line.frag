uniform highp sampler2DArray thumbnails;
in vec4 color;
in vec3 uv;
out vec4 blended;
void main() {
    vec3 rgb = uv.z < 0.0 ? color.rgb : texture(thumbnails, uv).rgb;
    blended = vec4(rgb * color.a, color.a);
}
