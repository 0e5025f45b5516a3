//! Names of objects, for shuttle's annotated schedules, which are not written here.

/// Names an object. Without effect.
pub trait WithName {
    /// Sets name and kind.
    fn with_name_and_kind(self, name: Option<&str>, kind: Option<&str>) -> Self;

    /// Sets the name.
    fn with_name(self, name: &str) -> Self
    where
        Self: Sized,
    {
        self.with_name_and_kind(Some(name), None)
    }

    /// Sets the kind.
    fn with_kind(self, kind: &str) -> Self
    where
        Self: Sized,
    {
        self.with_name_and_kind(None, Some(kind))
    }
}
