// Writes one value to the first `count` words of a buffer.
//
// Groups are folded over x and y, because a device may allow no more than
// 65 535 groups along one axis.
#version 450

layout(local_size_x = 256) in;

layout(std430, set = 0, binding = 0) writeonly buffer Words { uint words[]; };

layout(push_constant) uniform Push {
    uint count;
    uint value;
};

void main() {
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint index = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    // The folded grid may reach past 2^24 groups of 256: such an index would
    // wrap around to the start of the buffer.
    if (group < 0x1000000u && index < count) {
        words[index] = value;
    }
}
