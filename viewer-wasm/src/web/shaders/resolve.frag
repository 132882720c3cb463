// Puts the picture over its background, right way up.
uniform sampler2D picture;
uniform vec3 background;
uniform bool flip;
in vec2 uv;
out vec4 color;
void main() {
    vec4 c = texture(picture, flip ? vec2(uv.x, 1.0 - uv.y) : uv);
    color = vec4(c.rgb + (1.0 - c.a) * background, 1.0);
}
