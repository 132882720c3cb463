#version 450
#extension GL_EXT_control_flow_attributes : require
// 3x3 convolution, stride 1, zero padding 1, bias, ReLU, for both images of a pair.
//
// A group makes 32x16 pixels of 8 output channels: every thread holds 8 pixels x 8 channels in registers and takes the
// inputs from shared memory, 8 input channels at a time. Activations are planes [image][channel][row][column]; a buffer
// may hold only rows [in_row0, in_row0 + in_rows) of a level that is `height` rows high. Rows and columns outside the
// level are zero. Every output is one chain of fused multiply-adds over channel, row, column, so it does not depend on
// how the level was cut.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Features { float features[]; };
// Two halves a word: [output channel / 8][input channel][row][column][output channel % 8].
layout(set = 0, binding = 1, std430) readonly restrict buffer Weights { uint weights[]; };
layout(set = 0, binding = 2, std430) readonly restrict buffer Constants { float constants[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Convolved { float convolved[]; };

layout(push_constant) uniform Push {
    uint in_channels;
    uint out_channels;
    int width;
    int height;
    int in_row0;
    int in_rows;
    int out_row0;
    int out_rows;
    uint weights_at;  // words
    uint bias_at;     // floats
};

const int PIXELS = 8;
const int COLUMNS = 32, ROWS = 16;
const int CHANNELS = 8;
const int PATCH_ROWS = ROWS + 2;
// Odd: threads of different rows then hit different banks.
const int PATCH_STRIDE = COLUMNS + 3;

shared float patches[CHANNELS * PATCH_ROWS * PATCH_STRIDE];
shared vec4 taps[CHANNELS * 9 * 2];

void main() {
    int lane = int(gl_LocalInvocationIndex);
    int tiles_x = (width + COLUMNS - 1) / COLUMNS;
    int tile = int(gl_WorkGroupID.y);
    uint block = gl_WorkGroupID.x;
    uint image = gl_WorkGroupID.z;
    int x0 = tile % tiles_x * COLUMNS;
    int y0 = out_row0 + tile / tiles_x * ROWS;
    int x = x0 + (lane & 3) * PIXELS;
    int y = y0 + (lane >> 2);
    bool active_thread = x < width && y < out_row0 + out_rows;
    uint plane = uint(width) * uint(in_rows);
    uint source = image * in_channels * plane;

    vec4 low[PIXELS], high[PIXELS];
    uint first_channel = block * 8u;
    vec4 bias_low, bias_high;
    [[unroll]] for (int k = 0; k < 4; ++k) {
        bias_low[k] = constants[bias_at + first_channel + uint(k)];
        bias_high[k] = constants[bias_at + first_channel + uint(k) + 4u];
    }
    [[unroll]] for (int p = 0; p < PIXELS; ++p) {
        low[p] = bias_low;
        high[p] = bias_high;
    }

    for (uint base = 0u; base < in_channels; base += uint(CHANNELS)) {
        int count = min(CHANNELS, int(in_channels - base));
        uint from = source + base * plane;
        barrier();
        // Columns 0..31 of the patch: a fixed column a thread, two rows at a time.
        {
            int column = lane & 31;
            bool column_in = x0 - 1 + column >= 0 && x0 - 1 + column < width;
            for (int row = lane >> 5; row < PATCH_ROWS; row += 2) {
                int level_row = y0 - 1 + row;
                int stored = level_row - in_row0;
                bool inside = column_in && level_row >= 0 && level_row < height && stored >= 0 && stored < in_rows;
                uint at = from + uint(stored * width + x0 - 1 + column);
                int to = row * PATCH_STRIDE + column;
                for (int c = 0; c < count; ++c) {
                    patches[to] = inside ? features[at] : 0.0;
                    at += plane;
                    to += PATCH_ROWS * PATCH_STRIDE;
                }
            }
        }
        // Columns 32 and 33.
        for (int at = lane; at < count * PATCH_ROWS * 2; at += 64) {
            int column = 32 + (at & 1);
            int row = (at >> 1) % PATCH_ROWS;
            int c = (at >> 1) / PATCH_ROWS;
            int level_row = y0 - 1 + row;
            int stored = level_row - in_row0;
            bool inside = x0 - 1 + column < width && level_row >= 0 && level_row < height && stored >= 0
                && stored < in_rows;
            uint read = from + uint(c) * plane + uint(stored * width + x0 - 1 + column);
            patches[(c * PATCH_ROWS + row) * PATCH_STRIDE + column] = inside ? features[read] : 0.0;
        }
        uint words = weights_at + (block * in_channels + base) * 36u;
        for (int at = lane; at < count * 18; at += 64) {
            vec2 a = unpackHalf2x16(weights[words + uint(at) * 2u]);
            vec2 b = unpackHalf2x16(weights[words + uint(at) * 2u + 1u]);
            taps[at] = vec4(a, b);
        }
        barrier();
        int channels = active_thread ? count : 0;
        for (int c = 0; c < channels; ++c) {
            for (int ky = 0; ky < 3; ++ky) {
                int patch_at = (c * PATCH_ROWS + (lane >> 2) + ky) * PATCH_STRIDE + (lane & 3) * PIXELS;
                float row[PIXELS + 2];
                [[unroll]] for (int p = 0; p < PIXELS + 2; ++p) {
                    row[p] = patches[patch_at + p];
                }
                [[unroll]] for (int kx = 0; kx < 3; ++kx) {
                    vec4 w_low = taps[(c * 9 + ky * 3 + kx) * 2];
                    vec4 w_high = taps[(c * 9 + ky * 3 + kx) * 2 + 1];
                    [[unroll]] for (int p = 0; p < PIXELS; ++p) {
                        low[p] = fma(w_low, vec4(row[p + kx]), low[p]);
                        high[p] = fma(w_high, vec4(row[p + kx]), high[p]);
                    }
                }
            }
        }
    }

    if (!active_thread) {
        return;
    }
    uint out_plane = uint(width) * uint(out_rows);
    uint target = (image * out_channels + first_channel) * out_plane + uint((y - out_row0) * width + x);
    int columns = min(PIXELS, width - x);
    [[unroll]] for (int k = 0; k < 8; ++k) {
        [[unroll]] for (int p = 0; p < PIXELS; ++p) {
            if (p < columns) {
                convolved[target + uint(p)] = max(k < 4 ? low[p][k & 3] : high[p][k & 3], 0.0);
            }
        }
        target += out_plane;
    }
}
