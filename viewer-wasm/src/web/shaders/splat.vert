// One quad a splat: the ellipse that `project.frag` wrote, up to where alpha falls to 1/255.
uniform highp usampler2DArray ellipses;
uniform highp usampler2DArray paints;
uniform int drawn;
uniform int record_rows;
uniform vec2 size_px;
out vec2 offset;         // standard deviations from the centre
flat out vec4 color;     // opacity in a

const int QUADS = 256;

void main() {
    gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
    offset = vec2(0.0);
    color = vec4(0.0);
    // An instance is a batch of quads: devices of all kinds are slow at instances of four vertices.
    int slot = gl_InstanceID * QUADS + (gl_VertexID >> 2);
    if (slot >= drawn) {
        return;
    }
    int row = slot >> 9;
    ivec3 at = ivec3(slot & 511, row % record_rows, row / record_rows);
    uvec4 ellipse = texelFetch(ellipses, at, 0);
    vec2 share_and_opacity = unpackHalf2x16(ellipse.w);
    if (share_and_opacity.y == 0.0) {
        return;
    }
    uvec2 paint = texelFetch(paints, at, 0).xy;
    vec2 blue_and_edge = unpackHalf2x16(paint.y);
    color = vec4(unpackHalf2x16(paint.x), blue_and_edge.x, share_and_opacity.y);
    offset = (vec2(gl_VertexID & 1, gl_VertexID >> 1 & 1) * 2.0 - 1.0) * blue_and_edge.y;
    vec2 axis = unpackHalf2x16(ellipse.z);
    vec2 px = uintBitsToFloat(ellipse.xy) + offset.x * axis + offset.y * share_and_opacity.x * vec2(-axis.y, axis.x);
    // The picture lies with its first row at the bottom of the target; the last pass turns it over.
    gl_Position = vec4(px / size_px * 2.0 - 1.0, 0.0, 1.0);
}
