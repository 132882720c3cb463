// Grey of a pixel of the photo, Rec. 601, 0 to 1. Expects `target.glsl`.
float grey(uint pixel) {
    return 0.299 * target_value(pixel, 0u) + 0.587 * target_value(pixel, 1u) + 0.114 * target_value(pixel, 2u);
}
