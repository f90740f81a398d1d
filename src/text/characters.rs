//! The one table of characters that show nothing.

/// Returns `true` if a character shows nothing by itself: joiners, direction marks, variation selectors, tags, fillers, soft
/// hyphens. These are the code points that Unicode calls `Default_Ignorable_Code_Point`, and interlinear annotation.
pub(crate) const fn is_invisible(c: char) -> bool {
    !c.is_ascii()
        && matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}
