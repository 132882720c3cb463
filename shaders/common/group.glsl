// Grids are folded over x and y because an axis may hold only 65 535 groups.

uint group_index() {
    return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}

uvec3 fold_groups(uint groups) {
    return groups <= 65535u ? uvec3(groups, 1u, 1u) : uvec3(65535u, (groups + 65534u) / 65535u, 1u);
}
