#version 450
// Maximum of 2x2 pixels, stride 2; an odd last row or column is dropped. One thread an output pixel, one group row a
// plane. The input holds rows [in_row0, in_row0 + in_rows) of its level, the output all rows of the next one.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly restrict buffer Features { float features[]; };
layout(set = 0, binding = 1, std430) writeonly restrict buffer Pooled { float pooled[]; };

layout(push_constant) uniform Push {
    uint width;
    uint in_row0;
    uint in_rows;
    uint out_width;
    uint out_height;
    uint out_row0;
    uint out_rows;
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= out_width * out_rows) {
        return;
    }
    uint plane = gl_WorkGroupID.y;
    uint x = i % out_width, y = out_row0 + i / out_width;
    uint at = (plane * in_rows + 2u * y - in_row0) * width + 2u * x;
    float above = max(features[at], features[at + 1u]);
    float below = max(features[at + width], features[at + width + 1u]);
    pooled[(plane * out_height + y) * out_width + x] = max(above, below);
}
