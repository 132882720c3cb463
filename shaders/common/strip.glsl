// Strips of the image, 64 columns wide: a group of 192 threads walks down a strip, a thread for each column and channel,
// and holds in registers what the next eleven rows of outputs have gathered so far. Expects `window.glsl` and a uniform
// block `u`.

const int STRIP_WIDTH = 64;
const int LINE = STRIP_WIDTH + 2 * HALO;  // a row of a strip with its halo

struct Strip {
    ivec2 origin;   // first pixel
    int rows;       // rows of the image in it
};

// Rows of a strip: short ones where there are few tiles, so that all of a large device has work.
int strip_rows() {
    return u.tiles_x * u.tiles_y < 4096u ? 16 : 32;
}

// Strips there are, never more than tiles.
uint strip_count() {
    uint rows = uint(strip_rows());
    return (u.width + uint(STRIP_WIDTH) - 1u) / uint(STRIP_WIDTH) * ((u.height + rows - 1u) / rows);
}

Strip strip_at(uint index) {
    uint across = (u.width + uint(STRIP_WIDTH) - 1u) / uint(STRIP_WIDTH);
    Strip s;
    s.origin = ivec2(index % across, index / across) * ivec2(STRIP_WIDTH, strip_rows());
    s.rows = min(strip_rows(), int(u.height) - s.origin.y);
    return s;
}

// A row's blurred value goes to the eleven outputs whose windows it is in; ACC[k] is the one that k more rows follow.
#define GATHER(ACC, VALUE) \
    [[unroll]] for (int tap = 0; tap < 10; ++tap) { ACC[tap] = ACC[tap + 1] + WINDOW[10 - tap] * (VALUE); } \
    ACC[10] = WINDOW[0] * (VALUE);
