// Some CPU drivers end every loop of an invocation once its loops have taken a number of turns together (Mesa's llvmpipe:
// 65 535), without a word. A tile with very many splats comes there, and what was cut off would be missing from image or
// gradients.
//
// With the constant `UNROLLED` loops over a list have bodies of several records and loops inside of them are written out, which takes
// turns for the outermost alone: `PER_TURN` records each. What is computed of a record stays the same.

// True when the loops so far may have been cut: then a last one of a few turns is cut as well. Its length depends on the
// uniforms so that no compiler writes it out.
bool loops_were_cut() {
    uint wanted = 2u + (u.tiles_x & 1u);
    uint turns = 0u;
    while (turns < wanted) {
        ++turns;
    }
    return turns != wanted;
}

// Ends the step when the loops were cut. Every invocation asks for itself: drivers count by subgroup.
void check_loops() {
    if (loops_were_cut()) {
        counters.stall_iteration = counters.iteration;
        counters.stalled = STALL_LOOPS;
    }
}
