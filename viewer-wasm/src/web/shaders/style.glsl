// Numbers of the ways to show a model, as in style.rs.
const int POINTS = 1;
const int ELLIPSOIDS = 2;
const int DEPTH = 3;
const int NORMALS = 4;
const int COUNTS = 5;
