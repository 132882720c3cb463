// One quad a splat: the ellipse at whose edge alpha falls to 1/255. Formulas and names are the trainer's `project`.
uniform highp usampler2D order;  // 4096 a row
uniform int drawn;
uniform highp sampler2DArray colors;
uniform mat3 world_to_camera;
uniform vec3 camera;
uniform vec2 size_px;
uniform vec2 focal;
uniform vec2 centre;
uniform float variance;
uniform bool compensated;
uniform float scale_by;
uniform int style;       // as in style.rs
uniform float point_px;
out vec2 offset;         // standard deviations from the centre
flat out vec4 color;     // opacity in a

const int QUADS = 256;
const float NEAR = 0.2;
const float ALPHA_MIN = 1.0 / 255.0;
const float DET_MIN = 1e-6;

void main() {
    gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
    offset = vec2(0.0);
    color = vec4(0.0);
    // An instance is a batch of quads: devices of all kinds are slow at instances of four vertices.
    int slot = gl_InstanceID * QUADS + (gl_VertexID >> 2);
    if (slot >= drawn) {
        return;
    }
    int index = int(texelFetch(order, ivec2(slot & 4095, slot >> 12), 0).x);
    Geometry g = geometry_of(index);
    vec3 t = world_to_camera * (g.mean - camera);
    if (!(t.z > NEAR)) {
        return;
    }
    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1 & 1) * 2.0 - 1.0;
    vec2 mean_px = focal * t.xy / t.z + centre;
    vec3 rgb;
    if (style == DEPTH) {
        rgb = vec3(t.z);
    } else if (style == NORMALS) {
        vec3 s = g.scale;
        vec3 axis = s.x <= s.y && s.x <= s.z ? g.rotation[0] : s.y <= s.z ? g.rotation[1] : g.rotation[2];
        vec3 n = world_to_camera * axis;
        n = dot(n, t) > 0.0 ? -n : n;
        // The usual colours: x right, y up, z to the eye.
        rgb = 0.5 + 0.5 * vec3(n.x, -n.y, -n.z);
    } else {
        rgb = texelFetch(colors, texel_of(index, 1), 0).rgb;
    }
    vec2 reach;
    if (style == POINTS) {
        if (g.opacity < 0.05) {
            return;
        }
        offset = corner;
        reach = corner * point_px;
        color = vec4(rgb, 1.0);
    } else {
        // The Jacobian sees the image widened by 0.3 on either side.
        vec2 margin = 0.15 * size_px / focal;
        vec2 low = -(centre / focal + margin);
        vec2 high = (size_px - centre) / focal + margin;
        vec2 slope = clamp(t.xy / t.z, low, high);
        mat3 to_camera = world_to_camera * g.rotation;
        vec3 scale = g.scale * scale_by;
        // Rows of J W R S: columns of R S in camera axes, then the Jacobian.
        vec3 x_row = focal.x / t.z * scale
            * vec3(to_camera[0].x - slope.x * to_camera[0].z, to_camera[1].x - slope.x * to_camera[1].z,
                   to_camera[2].x - slope.x * to_camera[2].z);
        vec3 y_row = focal.y / t.z * scale
            * vec3(to_camera[0].y - slope.y * to_camera[0].z, to_camera[1].y - slope.y * to_camera[1].z,
                   to_camera[2].y - slope.y * to_camera[2].z);
        float a = dot(x_row, x_row), b = dot(x_row, y_row), c = dot(y_row, y_row);
        vec3 minors = cross(x_row, y_row);
        float det = dot(minors, minors);
        float filtered = det + variance * (a + c) + variance * variance;
        a += variance;
        c += variance;
        float opacity = g.opacity;
        if (compensated) {
            float det1 = max(filtered, DET_MIN);
            bool clamped = det <= DET_MIN || filtered <= DET_MIN;
            opacity *= clamped ? 0.0 : sqrt(det / (det1 + DET_MIN) + DET_MIN);
        }
        if (!(filtered > 0.0) || !(opacity >= ALPHA_MIN)) {
            return;
        }
        float mid = 0.5 * (a + c);
        float spread = length(vec2(0.5 * (a - c), b));
        float major = mid + spread;
        float minor = filtered / major;
        vec2 axis = a >= c ? vec2(major - c, b) : vec2(b, major - a);
        axis = spread > 0.0 ? normalize(axis) : vec2(1.0, 0.0);
        if (style == ELLIPSOIDS && opacity < 0.1) {
            return;
        }
        float edge = style == ELLIPSOIDS ? 1.0 : sqrt(2.0 * log(255.0 * opacity)) + 0.01;
        offset = corner * edge;
        reach = offset.x * sqrt(major) * axis + offset.y * sqrt(minor) * vec2(-axis.y, axis.x);
        color = vec4(rgb, opacity);
    }
    // The picture lies with its first row at the bottom of the target; the last pass turns it over.
    vec2 ndc = (mean_px + reach) / size_px * 2.0 - 1.0;
    gl_Position = vec4(ndc, 0.0, 1.0);
}
