// What the picture shows of the splat in each slot of the draw order: its ellipse and its colour. Formulas and names are
// the trainer's `project`.
uniform highp usampler2D order;  // 4096 a row
uniform int drawn;
uniform int record_rows;         // rows in a layer of what is written
uniform int layer;
uniform highp usampler2DArray harmonics;
uniform int degree;
uniform int sh_texels;
uniform mat3 world_to_camera;
uniform vec3 camera;
uniform vec2 size_px;
uniform vec2 focal;
uniform vec2 centre;
uniform float variance;
uniform bool compensated;
uniform float scale_by;
uniform int style;
uniform float point_px;
// Centre, px; half floats of a standard deviation along the longer axis, px; of the other's share of it, and of the
// opacity, which is 0 where there is nothing to see.
layout(location = 0) out uvec4 ellipse;
// Half floats of red, green, blue and of the standard deviations at which the splat ends.
layout(location = 1) out uvec2 paint;

const float NEAR = 0.2;
const float ALPHA_MIN = 1.0 / 255.0;
const float DET_MIN = 1e-6;
const float MOST = 60000.0; // that a half float holds

vec3 coefficient(uint word, float scale) {
    return (vec3(word & 1023u, word >> 10 & 1023u, word >> 20) - 511.0) * (scale / 511.0);
}

// Spherical harmonics, 0.5 added, cut off at 0.
vec3 color_of(int index, Geometry g) {
    vec3 rgb = 0.28209479177 * g.dc + 0.5;
    if (degree > 0) {
        vec3 d = normalize(g.mean - camera);
        float x = d.x, y = d.y, z = d.z;
        ivec3 at = texel_of(index, sh_texels);
        uvec4 w = texelFetch(harmonics, at, 0);
        vec2 scale = unpackHalf2x16(w.x);
        rgb += 0.4886025119 * (z * coefficient(w.z, scale.x) - y * coefficient(w.y, scale.x)
            - x * coefficient(w.w, scale.x));
        if (degree > 1) {
            uvec4 v = texelFetch(harmonics, at + ivec3(1, 0, 0), 0);
            w = texelFetch(harmonics, at + ivec3(2, 0, 0), 0);
            float xx = x * x, yy = y * y, zz = z * z;
            rgb += 1.0925484306 * (x * y * coefficient(v.x, scale.y) - y * z * coefficient(v.y, scale.y)
                - x * z * coefficient(v.w, scale.y));
            rgb += 0.3153915653 * (2.0 * zz - xx - yy) * coefficient(v.z, scale.y);
            rgb += 0.5462742153 * (xx - yy) * coefficient(w.x, scale.y);
            if (degree > 2) {
                v = texelFetch(harmonics, at + ivec3(3, 0, 0), 0);
                rgb -= 0.5900435899 * (y * (3.0 * xx - yy) * coefficient(w.y, scale.y)
                    + x * (xx - 3.0 * yy) * coefficient(v.w, scale.y));
                rgb += 2.8906114426 * x * y * z * coefficient(w.z, scale.y);
                rgb -= 0.4570457995 * (4.0 * zz - xx - yy) * (y * coefficient(w.w, scale.y) + x * coefficient(v.y, scale.y));
                rgb += 0.3731763326 * z * (2.0 * zz - 3.0 * xx - 3.0 * yy) * coefficient(v.x, scale.y);
                rgb += 1.4453057213 * z * (xx - yy) * coefficient(v.z, scale.y);
            }
        }
    }
    return max(rgb, vec3(0.0));
}

void main() {
    ellipse = uvec4(0u);
    paint = uvec2(0u);
    ivec2 place = ivec2(gl_FragCoord.xy);
    int slot = (layer * record_rows + place.y) * 512 + place.x;
    if (slot >= drawn) {
        return;
    }
    int index = int(texelFetch(order, ivec2(slot & 4095, slot >> 12), 0).x);
    Geometry g = geometry_of(index);
    vec3 t = world_to_camera * (g.mean - camera);
    if (!(t.z > NEAR)) {
        return;
    }
    float opacity = g.opacity;
    vec2 axis = vec2(point_px, 0.0);
    float share = 1.0;
    float edge = 1.0;
    if (style == POINTS) {
        if (opacity < 0.05) {
            return;
        }
        opacity = 1.0;
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
        if (compensated) {
            float det1 = max(filtered, DET_MIN);
            bool clamped = det <= DET_MIN || filtered <= DET_MIN;
            opacity *= clamped ? 0.0 : sqrt(det / (det1 + DET_MIN) + DET_MIN);
        }
        if (!(filtered > 0.0) || !(opacity >= ALPHA_MIN) || style == ELLIPSOIDS && opacity < 0.1) {
            return;
        }
        float mid = 0.5 * (a + c);
        float spread = length(vec2(0.5 * (a - c), b));
        float major = mid + spread;
        axis = a >= c ? vec2(major - c, b) : vec2(b, major - a);
        axis = spread > 0.0 ? normalize(axis) : vec2(1.0, 0.0);
        axis *= min(sqrt(major), MOST);
        share = sqrt(filtered) / major;
        edge = style == ELLIPSOIDS ? 1.0 : sqrt(2.0 * log(255.0 * opacity)) + 0.01;
    }
    vec3 rgb;
    if (style == DEPTH) {
        rgb = vec3(t.z);
    } else if (style == NORMALS) {
        vec3 s = g.scale;
        vec3 shortest = s.x <= s.y && s.x <= s.z ? g.rotation[0] : s.y <= s.z ? g.rotation[1] : g.rotation[2];
        vec3 n = world_to_camera * shortest;
        n = dot(n, t) > 0.0 ? -n : n;
        // The usual colours: x right, y up, z to the eye.
        rgb = 0.5 + 0.5 * vec3(n.x, -n.y, -n.z);
    } else {
        rgb = color_of(index, g);
    }
    rgb = min(rgb, vec3(MOST));
    vec2 mean_px = focal * t.xy / t.z + centre;
    ellipse = uvec4(floatBitsToUint(mean_px), packHalf2x16(axis), packHalf2x16(vec2(share, opacity)));
    paint = uvec2(packHalf2x16(rgb.rg), packHalf2x16(vec2(rgb.b, edge)));
}
