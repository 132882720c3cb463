// A trained view and a neighbouring one that shows the same surface. Expects `step.glsl`, and the uniform blocks `u` of the trained
// view and `n` of the neighbour.

// From camera space of the trained view to that of the neighbour: turn * x + shift.
struct Way {
    mat3 turn;
    vec3 shift;
};

Way way_there() {
    // Columns are the rows of world to camera: this turns back to the world.
    mat3 back = mat3(u.view_row0.xyz, u.view_row1.xyz, u.view_row2.xyz);
    mat3 turn = transpose(mat3(n.view_row0.xyz, n.view_row1.xyz, n.view_row2.xyz)) * back;
    vec3 from = vec3(u.view_row0.w, u.view_row1.w, u.view_row2.w);
    vec3 to = vec3(n.view_row0.w, n.view_row1.w, n.view_row2.w);
    return Way(turn, to - turn * from);
}
