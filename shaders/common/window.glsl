// The 11-tap Gaussian window (sigma 1.5) of SSIM (Wang et al. 2004) and the tile with its 5-pixel halo.

const float WINDOW[11] = float[11](0.00102838, 0.00759876, 0.03600077, 0.10936069, 0.21300553, 0.26601172, 0.21300553,
                                   0.10936069, 0.03600077, 0.00759876, 0.00102838);
const int HALO = 5;
const int SIDE = 26;  // 16 + 2 * HALO
const float C1 = 1e-4;
const float C2 = 9e-4;
