// The colour of every splat for one camera position: spherical harmonics, 0.5 added, cut off at 0.
uniform highp usampler2DArray harmonics;
uniform vec3 camera;
uniform int layer;
uniform int degree;
uniform int sh_texels;
out vec4 color;

vec3 coefficient(uint word, float scale) {
    return (vec3(word & 1023u, word >> 10 & 1023u, word >> 20) - 511.0) * (scale / 511.0);
}

void main() {
    ivec2 place = ivec2(gl_FragCoord.xy);
    int index = (layer * layer_rows + place.y) * 512 + place.x;
    Geometry g = geometry_of(index);
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
    color = vec4(max(rgb, vec3(0.0)), 1.0);
}
