// Clusters: for each group of 256 Gaussians the box around their centres and their largest standard deviation, 3D filter
// included. They lie behind a chunk's masks, eight words a group, one of them unused. A deviation of 0 says that nothing is
// known of the group, as in cleared memory. The includer binds `visible_mask` and defines STRIDE.

struct Cluster {
    vec3 low;
    vec3 high;
    float deviation;
};

uint cluster_words(uint group) {
    return STRIDE / 32u + group * 8u;
}

Cluster load_cluster(uint group) {
    uint at = cluster_words(group);
    Cluster c;
    for (uint axis = 0u; axis < 3u; ++axis) {
        c.low[axis] = uintBitsToFloat(visible_mask[at + axis]);
        c.high[axis] = uintBitsToFloat(visible_mask[at + 3u + axis]);
    }
    c.deviation = uintBitsToFloat(visible_mask[at + 6u]);
    return c;
}
