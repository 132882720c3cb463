// A tile by one subgroup of eight lanes, which neither shares memory nor waits for others. Lane l has the columns l and
// l + 8: four pixels of each of the tile's eight blocks (`blocks.glsl`), numbered block by block, 4 b to 4 b + 3.
//
// Made for CPU drivers. There, a load takes one lane after the other while a shuffle is one instruction: each lane loads one
// splat of eight, and the subgroup passes them around. A branch becomes a mask and what it skips is computed anyway, only the
// end of a loop is a real jump: so every block has a loop, over those of the eight splats that reach it. What belongs to a
// pixel stays in registers or on the stack because indices are written out as constants.
#define BLOCK_ROWS 4u
#include "blocks.glsl"

const uint LANES = 8u;

#define EACH_BLOCK(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define FOUR_PIXELS(B, DO) DO(4 * B) DO(4 * B + 1) DO(4 * B + 2) DO(4 * B + 3)
#define FOUR_OF(B, DO) FOUR_PIXELS(B, DO)

struct Splat {
    vec3 position;  // mean x, y (px), opacity
    vec3 conic;
    vec3 rgb;
};

Splat load_splat(uint v) {
    return Splat(splat_position[v].xyw, splat_conic[v].xyz, splat_color[v].rgb);
}

// The splat that a lane holds, in all lanes.
Splat pass_around(Splat s, uint lane) {
    return Splat(subgroupShuffle(s.position, lane), subgroupShuffle(s.conic, lane), subgroupShuffle(s.rgb, lane));
}

// Sums over lanes and the like; written out because a short loop would stay one.
uint all_bits(uint x) {
    x |= subgroupShuffleXor(x, 4u);
    x |= subgroupShuffleXor(x, 2u);
    return x | subgroupShuffleXor(x, 1u);
}

uint highest(uint x) {
    x = max(x, subgroupShuffleXor(x, 4u));
    x = max(x, subgroupShuffleXor(x, 2u));
    return max(x, subgroupShuffleXor(x, 1u));
}

float total(float x) {
    x += subgroupShuffleXor(x, 4u);
    x += subgroupShuffleXor(x, 2u);
    return x + subgroupShuffleXor(x, 1u);
}

// From the blocks that each lane's splat reaches to the lanes that reach each block: byte b of the two words is block b's.
uvec2 lanes_by_block(uint blocks, uint lane) {
    uvec2 halves = uvec2(blocks, blocks >> 4);
    uvec2 words = halves & 1u | (halves & 2u) << 7 | (halves & 4u) << 14 | (halves & 8u) << 21;
    words <<= lane;
    return uvec2(all_bits(words.x), all_bits(words.y));
}
