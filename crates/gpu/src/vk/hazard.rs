//! Two commands of a recording that need a barrier and have none.

/// Two commands that nothing keeps apart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("in program `{program}`, {later} {what} of {earlier} without a barrier between them: `{tensor}`")]
pub struct Hazard {
    /// Name of the program.
    pub program: String,
    /// The first command: pass and number.
    pub earlier: String,
    /// The second.
    pub later: String,
    /// What the second does to what the first did.
    pub what: &'static str,
    /// The tensor, or both where two share bytes.
    pub tensor: String,
}
