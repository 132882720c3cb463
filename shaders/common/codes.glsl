// Values below f32: codes of colours and of Adam's moments, the same as in `twins/codes.rs`. Each is rounded up or
// down at random so that its mean is the value; `random16` is below 2^16. What a code stands for is never changed by
// storing it again.

// Channels of `common/rng.glsl`, beyond those of other kernels. A draw serves two values, its low half the first.
const uint CHANNEL_SH = 256u;           // channel of colours, plus the word
const uint CHANNEL_SH_MOMENTS = 320u;   // channel of the moments of colours, plus the value
const uint CHANNEL_GEOMETRY = 384u;     // channel of the moments of the geometry, plus the value

// Of one Gaussian in one step.
uint rounding_stream(uint seed, uint step, uint id) {
    return rng_hash(rng_hash(rng_hash(seed) + step) + id);
}

uint rounding_draw(uint stream, uint channel) {
    return rng_hash(stream + channel);
}

// IEEE half without subnormal numbers, which drivers may read as zero: below 2^-14 only 0 is left.
uint half_code(float x, uint random16) {
    uint bits = floatBitsToUint(x);
    uint magnitude = bits & 0x7fffffffu;
    uint code = magnitude < 0x38800000u
                    ? (float(random16) + 0.5 < uintBitsToFloat(magnitude) * 1073741824.0 ? 0x400u : 0u)
                    : min(((magnitude + (random16 >> 3)) >> 13) - 0x1c000u, 0x7bffu);
    return (bits >> 16 & 0x8000u) | code;
}

// Second moments are floats with fewer bits, so that adding random bits below the last and cutting them off is all the
// rounding there is. Relative to a scale they have 5 bits of exponent; the highest is one above the scale's, which no
// moment reaches, and 0 stands for a value that never was above 0: others stay above it, because a second moment that
// is too small makes steps too large.
#ifdef COMPACT
const uint SECOND_MANTISSA = 3u;
#else
const uint SECOND_MANTISSA = 11u;
#endif
const uint SECOND_SHIFT = 23u - SECOND_MANTISSA;

// What codes count from.
int second_base(float scale) {
    return (int(floatBitsToUint(scale) >> 23) - 30) * (1 << SECOND_MANTISSA);
}

uint second_code(float v, int base, uint random16) {
#ifdef COMPACT
    uint random = random16 << 4 | 8u;
#else
    uint random = random16 >> 4;
#endif
    int code = int((floatBitsToUint(v) + random) >> SECOND_SHIFT) - base;
    return v > 0.0 ? uint(clamp(code, 1, (1 << (SECOND_MANTISSA + 5u)) - 1)) : 0u;
}

float second_value(uint code, int base) {
    return code == 0u ? 0.0 : uintBitsToFloat(uint(max(int(code) + base, 0)) << SECOND_SHIFT);
}

// The same with 8 bits of exponent: no scale is needed.
uint wide_second_code(float v, uint random16) {
    return min((floatBitsToUint(v) + (random16 >> 1)) >> 15, 0xfeffu);
}

float wide_second_value(uint code) {
    return uintBitsToFloat(code << 15);
}

// First moments are kept as their quotient with the root of the second as stored. Adam bounds it whatever the gradients
// are: by 7.3 for decays of 0.9 and 0.999.
const float RATIO_MOST = 8.0;

int ratio16_code(float ratio, uint random16) {
    float steps = ratio * (32767.0 / RATIO_MOST);
    return int(clamp(floor(steps + (float(random16) + 0.5) / 65536.0), -32767.0, 32767.0));
}

float ratio16_value(int code) {
    return float(code) * (RATIO_MOST / 32767.0);
}

// Squares of -127 to 127: small quotients, which are the usual ones, are the finest.
int ratio8_code(float ratio, uint random16) {
    float square = min(abs(ratio), RATIO_MOST) * (16129.0 / RATIO_MOST);
    float below = floor(sqrt(square));
    float up = (float(random16) + 0.5) / 65536.0 * (2.0 * below + 1.0) < square - below * below ? 1.0 : 0.0;
    int code = int(min(below + up, 127.0));
    return ratio < 0.0 ? -code : code;
}

float ratio8_value(int code) {
    return float(code * abs(code)) * (RATIO_MOST / 16129.0);
}

// What a first moment is multiplied with for its quotient.
float over_root(float v) {
    return v > 0.0 ? inversesqrt(v) : 0.0;
}
