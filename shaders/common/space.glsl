// Voxels in the world. Bounded space is a box with equal voxels. Contracted space has equal voxels in a ball and ever larger
// ones outside, so that all of the world lies in a box four radii wide (Barron et al. 2022, eq. 10). Expects push
// constants `origin_x` to `truncation`.

const uint BRICK_SIDE = 8u;  // voxels along a brick's side

// Contracted distance from the centre at which the world ends: a thousand radii.
const float WORLD_END = 1.999;

// Place in voxels of a point of the world.
vec3 to_grid(vec3 x) {
    vec3 from = x - vec3(origin_x, origin_y, origin_z);
    if (radius == 0.0) {
        return from / voxel;
    }
    vec3 y = from / radius;
    float distance = length(y);
    y = distance > 1.0 ? (2.0 - 1.0 / distance) / distance * y : y;
    return (y + 2.0) * (radius / voxel);
}

// Distance of a place from the centre, contracted; 0 in bounded space.
float contracted_distance(vec3 q) {
    return radius == 0.0 ? 0.0 : length(q * (voxel / radius) - 2.0);
}

// Point of the world at a place whose contracted distance is below `WORLD_END`.
vec3 to_world(vec3 q) {
    vec3 origin = vec3(origin_x, origin_y, origin_z);
    if (radius == 0.0) {
        return origin + q * voxel;
    }
    vec3 y = q * (voxel / radius) - 2.0;
    float distance = length(y);
    y = distance > 1.0 ? y / (distance * (2.0 - distance)) : y;
    return origin + y * radius;
}

// Distance behind and before a surface at which voxels still hear of it, world units, at a place.
float truncation_at(vec3 q) {
    float rest = 2.0 - clamp(contracted_distance(q), 1.0, WORLD_END);
    return truncation * (radius == 0.0 ? voxel : voxel / (rest * rest));
}
