// A tree of boxes without pointers: box b of level 0 is around centres 32 b to 32 b + 31 in Morton order, box b of the next
// level around boxes 32 b to 32 b + 31, and so on up to a single one. Two vectors a box: bits of the lower corner and the
// lowest id inside; bits of the upper corner.

const uint BOX_WIDTH = 32u;  // centres or boxes in a box
const uint BOX_SHIFT = 5u;

// Boxes of a level over n centres.
uint boxes_of(uint n, uint level) {
    for (uint i = 0u; i <= level; ++i) {
        n = (n + BOX_WIDTH - 1u) >> BOX_SHIFT;
    }
    return n;
}
