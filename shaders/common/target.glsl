// The ground truth of a step: packed u8 RGB from word `u.image_offset` on and, in scenes with masks, one byte a pixel from
// the next whole word on. Where it is larger than a binding, only pixels from `target_base` on are bound; never with masks.
// Expects a uniform block `u`, the buffer `target` and the push constant `target_base`.

float target_byte(uint byte) {
    return float((target[byte >> 2] >> ((byte & 3u) * 8u)) & 0xffu) / 255.0;
}

float target_value(uint pixel, uint channel) {
    return target_byte(u.image_offset * 4u + (pixel - target_base) * 3u + channel);
}

// 1 where the pixel counts, else 0.
float mask_value(uint pixel) {
    uint rgb_words = (3u * u.width * u.height + 3u) / 4u;
    return target_byte((u.image_offset + rgb_words) * 4u + pixel);
}
