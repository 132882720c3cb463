// What a step of triangles reads beside the uniforms of all steps.

// Stands behind `StepUniforms` in the same tensor.
struct TriangleUniforms {
    float sigma;           // exponent of the window, above 0
    float opacity_floor;   // least opacity of a vertex, below 1
    uint samples;          // samples of a pixel along one axis
    uint flags;            // bits `TRIANGLES_*`
    uint vertices;         // vertices in use
    float opacity_weight;  // weight of the mean opacity of all triangles' corners in the loss
    float depth_weight;    // weight of the mean distance of vertices in view from the median depth
    float depth_most;      // vertices that far from the median depth or farther do not count in it, world units
    float normals_weight;  // weight of the disagreement between blended normals and those of the median depth
    uint reserved[3];      // fills the block up to whole vectors
};

const uint TRIANGLES_MAXIMA = 1u;  // importance and size of triangles are kept
