// Splats of a tile or half of one in shared memory, STAGED at a time, as the rasterisers of one pixel a thread read them: two vectors of
// four and a word for what every pixel wants.

shared vec4 staged_position[STAGED];  // mean x, y (px), opacity, red
shared vec4 staged_conic[STAGED];     // scaled conic, green
shared float staged_blue[STAGED];
shared uint staged_blocks[STAGED];    // blocks of the tile that the splat reaches

vec3 staged_color(uint place) {
    return vec3(staged_position[place].w, staged_conic[place].w, staged_blue[place]);
}

// Loads splat v into a place.
void stage(uint place, uint v, uvec2 origin) {
    vec4 position = splat_position[v];
    vec3 conic = splat_conic[v].xyz;
    vec3 rgb = splat_color[v].rgb;
    staged_position[place] = vec4(position.xy, position.w, rgb.r);
    staged_conic[place] = vec4(scaled_conic(conic), rgb.g);
    staged_blue[place] = rgb.b;
    staged_blocks[place] = reached_blocks(position.xy, position.w, conic, origin);
}
