//! Dates and time stamps, as machines write them.

/// Whether a text is a date of these centuries, or a date and a time, as RFC 3339 writes them; without a zone too.
pub(crate) fn is_moment(text: &[u8]) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else {
        return false;
    };
    is_date(date) && (rest.is_empty() || is_time(rest))
}

fn is_date(text: &[u8]) -> bool {
    let &[.., m1, m2, b'-', d1, d2] = text else {
        return false;
    };
    let is_written_so = fits(text, b"2999-19-39") && (text.starts_with(b"19") || text.starts_with(b"20"));
    let number = |tens: u8, ones: u8| 10 * (tens - b'0') + (ones - b'0');
    is_written_so && (1..=12).contains(&number(m1, m2)) && (1..=31).contains(&number(d1, d2))
}

fn is_time(text: &[u8]) -> bool {
    let Some((time, rest)) = text.split_at_checked(9) else {
        return false;
    };
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, zone) = match rest {
        [b'.', behind @ ..] => behind.split_at(digits(behind)),
        _ => (&[][..], rest),
    };
    // Eight digits and a letter may be the number of a person.
    let is_fraction = fraction.len() <= 9 && fraction.len() != 8 && rest.starts_with(b".") != fraction.is_empty();
    let is_zone = zone.is_empty() || zone == b"Z" || fits(zone, b"+19:59") || fits(zone, b"-19:59");
    (fits(time, b"T29:59:69") || fits(time, b" 29:59:69")) && is_fraction && is_zone
}

/// Whether a text is like another: for each digit one that is no higher, for each sign the same.
fn fits(text: &[u8], like: &[u8]) -> bool {
    let fits = |(byte, like): (&u8, &u8)| match like {
        b'0'..=b'9' => (b'0'..=*like).contains(byte),
        sign => byte == sign,
    };
    text.len() == like.len() && text.iter().zip(like).all(fits)
}

#[cfg(test)]
mod tests;
