// Reading a splat's geometry; the layout is described in pack.rs.
uniform highp usampler2DArray geometry;
uniform int layer_rows;

struct Geometry {
    vec3 mean;
    float opacity;
    vec3 scale;
    vec3 dc;
    mat3 rotation;
};

ivec3 texel_of(int index, int texels) {
    int row = index >> 9;
    return ivec3((index & 511) * texels, row % layer_rows, row / layer_rows);
}

mat3 rotation_of(uint low, uint high) {
    vec3 s = vec3(high & 0x7fffu, high >> 15 & 0x7fffu, low) * (2.0 / 32767.0) - 1.0;
    s *= 0.70710678118;
    float l = sqrt(max(0.0, 1.0 - dot(s, s)));
    uint at = high >> 30;
    vec4 q = at == 0u ? vec4(l, s) : at == 1u ? vec4(s.x, l, s.yz) : at == 2u ? vec4(s.xy, l, s.z) : vec4(s, l);
    float w = q.x, x = q.y, y = q.z, z = q.w;
    // Columns.
    return mat3(
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y),
        2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x),
        2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y));
}

Geometry geometry_of(int index) {
    ivec3 at = texel_of(index, 2);
    uvec4 a = texelFetch(geometry, at, 0);
    uvec4 b = texelFetch(geometry, at + ivec3(1, 0, 0), 0);
    Geometry g;
    g.mean = uintBitsToFloat(a.xyz);
    g.opacity = unpackHalf2x16(a.w).x;
    vec3 steps = vec3(a.w >> 16, b.x & 0xffffu, b.x >> 16);
    g.scale = exp(steps * (32.0 / 65535.0) - 24.0);
    g.dc = vec3(unpackHalf2x16(b.y), unpackHalf2x16(b.z).x);
    g.rotation = rotation_of(b.z >> 16, b.w);
    return g;
}
