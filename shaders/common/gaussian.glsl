// One Gaussian from its planes. The includer binds `geometry` (11 planes) and `filter_3d` (1 plane) of a chunk,
// defines STRIDE, the plane length in floats, and includes `planes.glsl`.

struct Gaussian {
    vec3 mean;
    vec4 quat;        // (w, x, y, z), raw
    vec3 log_scale;
    float logit;
    float filter_3d;
};

Gaussian load_gaussian(uint i) {
    Gaussian g;
    g.mean = vec3(geometry[i], geometry[STRIDE + i], geometry[2u * STRIDE + i]);
    g.quat = vec4(geometry[PLANE_QUATS * STRIDE + i], geometry[(PLANE_QUATS + 1u) * STRIDE + i],
                  geometry[(PLANE_QUATS + 2u) * STRIDE + i], geometry[(PLANE_QUATS + 3u) * STRIDE + i]);
    g.log_scale = vec3(geometry[PLANE_SCALES * STRIDE + i], geometry[(PLANE_SCALES + 1u) * STRIDE + i],
                       geometry[(PLANE_SCALES + 2u) * STRIDE + i]);
    g.logit = geometry[PLANE_OPACITY * STRIDE + i];
    g.filter_3d = filter_3d[i];
    return g;
}
