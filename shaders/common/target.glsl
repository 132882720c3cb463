// The ground truth of a step: packed u8 RGB from word `u.image_offset` on and, in scenes with masks, one byte a pixel from
// the next whole word on. Expects `JITTER`, `jitter.glsl`, a uniform block `u` and the buffer `target`.

float target_byte(uint byte) {
    return float((target[byte >> 2] >> ((byte & 3u) * 8u)) & 0xffu) / 255.0;
}

float target_value(uint pixel, uint channel) {
    return target_byte(u.image_offset * 4u + pixel * 3u + channel);
}

#ifdef MASKED
// 1 where the pixel counts, else 0; a jittered sample counts as its pixel does.
float mask_value(uint pixel) {
    uint rgb_words = (3u * u.width * u.height + 3u) / 4u;
    return target_byte((u.image_offset + rgb_words) * 4u + pixel);
}
#endif

// The value that the sample of pixel `p` is compared with: that of the pixel, or, resampled, the bilinear mean of the four
// pixel centres around the jittered sample, which stays inside the outermost centres.
float target_sample(ivec2 p, uint channel) {
    uint pixel = uint(p.y) * u.width + uint(p.x);
    // A constant first: CPU drivers compute both sides of a branch that depends on a uniform.
    if (JITTER == 0u || (u.flags & FLAG_RESAMPLE) == 0u) {
        return target_value(pixel, channel);
    }
    ivec2 last = ivec2(u.width, u.height) - 1;
    vec2 at = clamp(vec2(p) + sample_offset(pixel), vec2(0.0), vec2(last));
    ivec2 low = ivec2(at);
    ivec2 high = min(low + 1, last);
    vec2 share = at - vec2(low);
    uint row0 = uint(low.y) * u.width, row1 = uint(high.y) * u.width;
    float top = mix(target_value(row0 + uint(low.x), channel), target_value(row0 + uint(high.x), channel), share.x);
    float bottom = mix(target_value(row1 + uint(low.x), channel), target_value(row1 + uint(high.x), channel), share.x);
    return mix(top, bottom, share.y);
}
