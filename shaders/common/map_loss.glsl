// What losses of photos' maps share: a weight that fades, and sums over a group of 256. Expects a uniform block `u` and the push
// constants `start_weight`, `decay` and `from`.

float weight() {
    return u.iteration < from ? 0.0 : start_weight * exp(decay * float(u.iteration));
}

#define SUMMED float
#include "group_sum.glsl"
