// What the loss wants of a pixel. Expects `SCORES`, `image_gradient` and a uniform block `u`.

// A pixel's gradient and, for scores, what is splatted back beside it.
vec4 gradient_at(uint index) {
    vec4 g = image_gradient[index];
    return vec4(g.rgb, SCORES != 0u ? g.w : 0.0);
}

// Derivative of the loss by a pixel's final transmittance: what shows of the background, and a loss of coverage.
float background_gradient(uint index) {
    vec4 g = image_gradient[index];
    float shown = dot(u.background.rgb, g.rgb);
    return (u.flags & FLAG_ALPHA_GRADIENT) != 0u ? shown + g.a : shown;
}
