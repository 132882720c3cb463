// A training camera in the table of all of them; `FilterCamera` in `kernels/filter_3d.rs`.
struct FilterCamera {
    vec4 row0;  // rotation row, translation
    vec4 row1;
    vec4 row2;
    vec4 intrinsics;  // fx, fy, cx, cy (pixel centres on integers)
    vec4 size;        // width, height, near plane, largest stretch
};
