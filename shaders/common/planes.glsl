// Where the values of a Gaussian lie: word p of Gaussian i of a chunk is at p * stride + i. `gaussians/layout.rs` has the same.
// Macros: a number by another name, they leave modules as they are.

#define PLANE_MEANS 0u       // first plane of the centre (x, y, z)
#define PLANE_QUATS 3u       // first plane of the rotation (w, x, y, z)
#define PLANE_SCALES 7u      // first plane of the log scales
#define PLANE_OPACITY 10u    // plane of the opacity logit
#define GEOMETRY_PLANES 11u  // planes of the geometry
#define PLANE_TURN 11u       // first plane of the turn in the triangle's plane, a complex number; bound Gaussians alone have it
#define BOUND_LEARNED_PLANES 5u  // planes of moments of a bound Gaussian's geometry: two scales, turn, opacity
#define BOUND_PULL_PLANES 6u  // planes of what pulls at a bound Gaussian, in the place of its statistics: force, torque
#define PLANE_COUNT 2u       // plane of the statistics that counts steps
