// The 11-tap Gaussian window (sigma 1.5) of SSIM (Wang et al. 2004) and the tile with its 5-pixel halo.

// Three zeros on both sides: see `WINDOW_AT`.
const float WINDOW[17] = float[17](0.0, 0.0, 0.0, 0.00102838, 0.00759876, 0.03600077, 0.10936069, 0.21300553, 0.26601172,
                                   0.21300553, 0.10936069, 0.03600077, 0.00759876, 0.00102838, 0.0, 0.0, 0.0);
const int HALO = 5;
const int SIDE = 26;  // 16 + 2 * HALO
const float C1 = 1e-4;
const float C2 = 9e-4;

// The fourteen inputs of four neighbouring outputs, written out: each is loaded once and serves all four, weights are
// constants, and no array is indexed by a variable, which CPU drivers would do in memory. A weight of zero leaves a sum as
// it is.
#define WINDOW_AT(K) vec4(WINDOW[K + 3], WINDOW[K + 2], WINDOW[K + 1], WINDOW[K])
#define EACH_INPUT(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13)
