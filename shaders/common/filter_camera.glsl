// A training camera in the table of all of them.
struct FilterCamera {
    vec4 row0;        // first row of the world-to-camera rotation, and translation
    vec4 row1;        // second row
    vec4 row2;        // third row
    vec4 intrinsics;  // fx, fy, cx, cy, px; pixel centres on integers
    vec4 size;        // width and height, px; near plane, world units; largest stretch
};
