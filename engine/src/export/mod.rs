//! Files a run leaves behind: PLY, JSON, PNG, all written through one atomic writer.
