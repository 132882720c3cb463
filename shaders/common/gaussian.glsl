// One Gaussian from its planes. The includer binds `geometry` (11 planes) and `filter_3d` (1 plane) of a chunk and
// defines STRIDE, the plane length in floats.

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
    g.quat = vec4(geometry[3u * STRIDE + i], geometry[4u * STRIDE + i], geometry[5u * STRIDE + i],
                  geometry[6u * STRIDE + i]);
    g.log_scale = vec3(geometry[7u * STRIDE + i], geometry[8u * STRIDE + i], geometry[9u * STRIDE + i]);
    g.logit = geometry[10u * STRIDE + i];
    g.filter_3d = filter_3d[i];
    return g;
}
