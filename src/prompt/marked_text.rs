//! A text that is the same for every call but for its marks: rendered once, and filled in for each call.
//!
//! A template may do anything with the marks. There are gaps only where it does nothing but write them out, and that is
//! tried: with other marks, the filled text has to be what the template renders. It knows no template and no policy.

use super::marks::{CANARY_DIGITS, FENCE_DIGITS, Marks};
use super::sample;

/// A text with gaps where the marks of a call belong.
pub(super) struct MarkedText {
    /// What stands before each mark.
    pieces: Vec<(String, Mark)>,
    /// What stands behind the last one.
    end: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Fence,
    Canary,
}

impl Mark {
    fn of(self, marks: &Marks) -> &str {
        match self {
            Mark::Fence => &marks.fence,
            Mark::Canary => &marks.canary,
        }
    }
}

impl MarkedText {
    /// The gaps of what `render` makes of marks; `None` where it does more with them than to write them out.
    ///
    /// # Errors
    ///
    /// What `render` fails with.
    pub(super) fn find<E>(render: impl Fn(&Marks) -> Result<String, E>) -> Result<Option<Self>, E> {
        let marks = Marks::fresh();
        let gaps = Self::of(&render(&marks)?, &marks);
        for other in [Marks::fresh(), sample::marks()] {
            if render(&other)? != gaps.fill(&other) {
                return Ok(None);
            }
        }
        Ok(Some(gaps))
    }

    /// Whether marks are of the kind that gaps were tried with.
    pub(super) fn fit(marks: &Marks) -> bool {
        let fits = |mark: &str, digits| mark.len() == digits && mark.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits(&marks.fence, FENCE_DIGITS) && fits(&marks.canary, CANARY_DIGITS)
    }

    /// The text with these marks.
    pub(super) fn fill(&self, marks: &Marks) -> String {
        let length = |(piece, mark): &(String, Mark)| piece.len() + mark.of(marks).len();
        let mut text = String::with_capacity(self.pieces.iter().map(length).sum::<usize>() + self.end.len());
        for (piece, mark) in &self.pieces {
            text.push_str(piece);
            text.push_str(mark.of(marks));
        }
        text.push_str(&self.end);
        text
    }

    fn of(text: &str, marks: &Marks) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, mark, after)) = first(rest, marks) {
            pieces.push((before.to_owned(), mark));
            rest = after;
        }
        Self {
            pieces,
            end: rest.to_owned(),
        }
    }
}

/// What stands before the first mark of a text, which one it is, and what follows it.
fn first<'t>(text: &'t str, marks: &Marks) -> Option<(&'t str, Mark, &'t str)> {
    let found = [Mark::Fence, Mark::Canary].into_iter().filter_map(|mark| {
        let (before, after) = text.split_once(mark.of(marks))?;
        Some((before, mark, after))
    });
    found.min_by_key(|(before, ..)| before.len())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn find(render: impl Fn(&Marks) -> String) -> Option<MarkedText> {
        MarkedText::find(|marks| Ok::<_, Infallible>(render(marks))).unwrap()
    }

    #[test]
    fn marks_stand_where_they_stood() {
        let render = |marks: &Marks| format!("{0}a{1}{0}é\ncanary: {1}\n", marks.fence, marks.canary);
        let gaps = find(render).unwrap();
        assert_eq!(gaps.pieces.len(), 4);
        for marks in [Marks::fresh(), Marks::fresh()] {
            assert_eq!(gaps.fill(&marks), render(&marks));
        }
        let none = find(|_| "nothing".to_owned()).unwrap();
        assert_eq!(none.fill(&Marks::fresh()), "nothing");
    }

    #[test]
    fn a_text_that_does_more_with_its_marks_has_no_gaps() {
        assert!(find(|marks| marks.fence.to_uppercase()).is_none());
        assert!(find(|marks| marks.canary.chars().rev().collect()).is_none());
        assert!(find(|marks| marks.fence.chars().take(8).collect()).is_none());
    }

    #[test]
    fn only_marks_as_they_are_made_fit() {
        assert!(MarkedText::fit(&Marks::fresh()) && MarkedText::fit(&sample::marks()));
        for odd in ["", "00ff", "zz5a5a5a5a5a"] {
            assert!(!MarkedText::fit(&Marks::fixed(odd, sample::marks().canary)));
        }
    }
}
