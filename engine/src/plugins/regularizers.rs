//! Terms of the loss that look at parameters instead of images. None is available yet; the list in a profile is empty.

use super::family::family;

family! {
    /// A regularisation term.
    Regularizer {}
}
