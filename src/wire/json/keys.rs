//! Duplicate names in objects: found without quadratic work, and without allocating for small objects.

use std::borrow::Cow;
use std::collections::HashSet;

/// Up to this many names are compared one by one.
const COMPARED: usize = 16;

/// The names of every object that is still open, the innermost last.
#[derive(Debug, Default)]
pub(super) struct Names<'j> {
    names: Vec<Cow<'j, str>>,
}

/// The names of one open object.
#[derive(Debug)]
pub(super) struct Scope<'j> {
    from: usize,
    many: Option<HashSet<Cow<'j, str>>>,
}

impl<'j> Names<'j> {
    /// Opens an object.
    pub(super) fn open(&self) -> Scope<'j> {
        Scope {
            from: self.names.len(),
            many: None,
        }
    }

    /// Remembers a name of the innermost object; returns `false` if it was there before.
    pub(super) fn insert(&mut self, scope: &mut Scope<'j>, name: Cow<'j, str>) -> bool {
        if let Some(many) = &mut scope.many {
            return many.insert(name);
        }
        let earlier = self.names.get(scope.from..).unwrap_or_default();
        if earlier.contains(&name) {
            return false;
        }
        if earlier.len() < COMPARED {
            self.names.push(name);
        } else {
            let mut many: HashSet<_> = self.names.drain(scope.from..).collect();
            many.insert(name);
            scope.many = Some(many);
        }
        true
    }

    /// Closes the innermost object.
    pub(super) fn close(&mut self, scope: &Scope<'j>) {
        self.names.truncate(scope.from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_name_is_seen_at_any_size_and_only_in_its_own_object() {
        for size in [1_usize, 2, 15, 16, 17, 18, 500] {
            let mut names = Names::default();
            let mut outer = names.open();
            for index in 0..size {
                assert!(names.insert(&mut outer, Cow::Owned(format!("k{index}"))));
                let mut inner = names.open();
                assert!(names.insert(&mut inner, Cow::Borrowed("k0")));
                names.close(&inner);
            }
            for index in [0, size / 2, size - 1] {
                assert!(
                    !names.insert(&mut outer, Cow::Owned(format!("k{index}"))),
                    "{index} of {size}"
                );
            }
        }
    }
}
