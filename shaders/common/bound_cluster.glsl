// Bounds the clusters of a chunk, a group of 256 threads each. Expects `gaussian.glsl` and `cluster.glsl`, and `visible_mask`
// to be writable.

shared vec4 cluster_low[256];   // corner; -1 where the Gaussian cannot be bounded, else 0
shared vec4 cluster_high[256];  // corner; deviation

bool is_number(float x) {
    return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u;
}

// Folds what `count` threads left, `apart` from each other, into the place of the first.
void fold_cluster(uint first, uint count, uint apart) {
    for (uint k = 1u; k < count; ++k) {
        cluster_low[first] = min(cluster_low[first], cluster_low[first + k * apart]);
        cluster_high[first] = max(cluster_high[first], cluster_high[first + k * apart]);
    }
}

// Bounds one Gaussian, into the place of thread `lane`.
void bound_gaussian(uint lane, uint i) {
    vec3 mean = vec3(geometry[i], geometry[STRIDE + i], geometry[2u * STRIDE + i]);
    vec4 quat = vec4(geometry[PLANE_QUATS * STRIDE + i], geometry[(PLANE_QUATS + 1u) * STRIDE + i],
                     geometry[(PLANE_QUATS + 2u) * STRIDE + i], geometry[(PLANE_QUATS + 3u) * STRIDE + i]);
    vec3 log_scale = vec3(geometry[PLANE_SCALES * STRIDE + i], geometry[(PLANE_SCALES + 1u) * STRIDE + i],
                          geometry[(PLANE_SCALES + 2u) * STRIDE + i]);
    float deviation = exp(max(max(log_scale.x, log_scale.y), log_scale.z));
    float filter_deviation = filter_3d[i];
    if (filter_deviation != 0.0) {
        deviation = sqrt(deviation * deviation + filter_deviation * filter_deviation);
    }
    // Rotations of quaternions that are hardly there are not sure to be rotations.
    float norm2 = dot(quat, quat);
    bool bounded = is_number(mean.x) && is_number(mean.y) && is_number(mean.z) &&
                   is_number(log_scale.x + log_scale.y + log_scale.z) && is_number(deviation) && norm2 > 1e-30 &&
                   is_number(norm2);
    cluster_low[lane] = bounded ? vec4(mean, 0.0) : vec4(0.0, 0.0, 0.0, -1.0);
    cluster_high[lane] = bounded ? vec4(mean, deviation) : vec4(0.0);
}

// Takes the whole group; thread `lane` has Gaussian `i` of the chunk's `count`, the group has at least one.
void bound_cluster(uint group, uint lane, uint i, uint count) {
    if (i < count) {
        bound_gaussian(lane, i);
    } else {
        // Changes no minimum and no maximum.
        cluster_low[lane] = vec4(vec3(3.4e38), 0.0);
        cluster_high[lane] = vec4(vec3(-3.4e38), 0.0);
    }
    barrier();
    if (lane < 16u) {
        fold_cluster(lane, 16u, 16u);
    }
    barrier();
    if (lane == 0u) {
        fold_cluster(0u, 16u, 1u);
        uint at = cluster_words(group);
        for (uint axis = 0u; axis < 3u; ++axis) {
            visible_mask[at + axis] = floatBitsToUint(cluster_low[0][axis]);
            visible_mask[at + 3u + axis] = floatBitsToUint(cluster_high[0][axis]);
        }
        visible_mask[at + 6u] = cluster_low[0].w == 0.0 ? floatBitsToUint(cluster_high[0].w) : 0u;
        visible_mask[at + 7u] = 0u;
    }
}
