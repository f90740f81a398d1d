//! Words of a shell, piece by piece: quotes, escapes, variables, substitutions.

use super::Piece;

/// A place in a text, from which words are read.
pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
    }

    pub(super) fn word(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | '\r' | ';' | '&' | '|' | ')' => break,
                '(' => break,
                '<' | '>' => {
                    if !self.rest().get(1..).is_some_and(|rest| rest.starts_with('(')) {
                        break;
                    }
                    flush(&mut plain, &mut pieces);
                    self.at += 2;
                    pieces.push(Piece::Process {
                        script: self.until_parenthesis(),
                    });
                }
                '\\' => {
                    self.at += 1;
                    match self.bump() {
                        Some('\n') => {}
                        Some(escaped) => {
                            flush(&mut plain, &mut pieces);
                            pieces.push(Piece::Quoted(escaped.to_string()));
                        }
                        None => plain.push('\\'),
                    }
                }
                '\'' => {
                    flush(&mut plain, &mut pieces);
                    self.at += 1;
                    pieces.push(Piece::Quoted(self.until_char('\'')));
                }
                '"' => {
                    flush(&mut plain, &mut pieces);
                    self.at += 1;
                    let before = pieces.len();
                    self.double_quoted(&mut pieces, Some('"'));
                    if pieces.len() == before {
                        pieces.push(Piece::Quoted(String::new()));
                    }
                }
                '$' if self.rest().starts_with("$'") => {
                    flush(&mut plain, &mut pieces);
                    self.at += 2;
                    pieces.push(Piece::Quoted(self.ansi_c()));
                }
                '$' if self.rest().starts_with("$\"") => self.at += 1,
                '$' | '`' => match self.expansion(false) {
                    Some(piece) => {
                        flush(&mut plain, &mut pieces);
                        pieces.push(piece);
                    }
                    None => {
                        plain.push(c);
                        self.at += 1;
                    }
                },
                _ => {
                    plain.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
        flush(&mut plain, &mut pieces);
        pieces
    }

    pub(super) fn double_quoted(&mut self, pieces: &mut Vec<Piece>, end: Option<char>) {
        let mut literal = String::new();
        while let Some(c) = self.peek() {
            if Some(c) == end {
                self.at += 1;
                break;
            }
            match c {
                '\\' => {
                    self.at += 1;
                    match self.bump() {
                        Some('\n') => {}
                        Some(escaped @ ('$' | '`' | '"' | '\\')) => literal.push(escaped),
                        Some(other) => {
                            literal.push('\\');
                            literal.push(other);
                        }
                        None => literal.push('\\'),
                    }
                }
                '$' | '`' => match self.expansion(true) {
                    Some(piece) => {
                        if !literal.is_empty() {
                            pieces.push(Piece::Quoted(std::mem::take(&mut literal)));
                        }
                        pieces.push(piece);
                    }
                    None => {
                        literal.push(c);
                        self.at += 1;
                    }
                },
                _ => {
                    literal.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
        if !literal.is_empty() {
            pieces.push(Piece::Quoted(literal));
        }
    }

    /// Reads what begins with `$` or a backtick; nothing is consumed when it is only that character.
    fn expansion(&mut self, quoted: bool) -> Option<Piece> {
        let rest = self.rest();
        if rest.starts_with('`') {
            self.at += 1;
            let script = self.until_char_unescaped('`');
            return Some(Piece::Output { script, quoted });
        }
        if rest.starts_with("$((") {
            self.at += 3;
            let script = self.until_parenthesis();
            if self.peek() == Some(')') {
                self.at += 1;
            }
            return Some(Piece::Variable {
                name: String::new(),
                operation: script,
                quoted: true,
            });
        }
        if rest.starts_with("$(") {
            self.at += 2;
            return Some(Piece::Output {
                script: self.until_parenthesis(),
                quoted,
            });
        }
        if rest.starts_with("${") {
            self.at += 2;
            let inside = self.until_brace();
            let inside = inside.strip_prefix(['!', '#']).unwrap_or(&inside);
            let length = inside
                .char_indices()
                .find(|(_, c)| !(c.is_ascii_alphanumeric() || *c == '_' || *c == '@' || *c == '*'))
                .map_or(inside.len(), |(at, _)| at);
            let (name, operation) = inside.split_at_checked(length).unwrap_or((inside, ""));
            return Some(Piece::Variable {
                name: name.to_owned(),
                operation: operation.to_owned(),
                quoted,
            });
        }
        let after = rest.get(1..).unwrap_or_default();
        let name: String = match after.chars().next()? {
            c @ ('0'..='9' | '@' | '*' | '#' | '?' | '$' | '!' | '-') => c.to_string(),
            c if c.is_ascii_alphabetic() || c == '_' => after
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect(),
            _ => return None,
        };
        self.at += 1 + name.len();
        Some(Piece::Variable {
            name,
            operation: String::new(),
            quoted,
        })
    }

    fn until_char(&mut self, end: char) -> String {
        let rest = self.rest();
        let length = rest.find(end);
        let (inside, _) = rest
            .split_at_checked(length.unwrap_or(rest.len()))
            .unwrap_or((rest, ""));
        self.at += inside.len() + usize::from(length.is_some());
        inside.to_owned()
    }

    fn until_char_unescaped(&mut self, end: char) -> String {
        let mut inside = String::new();
        while let Some(c) = self.bump() {
            match c {
                c if c == end => break,
                '\\' => match self.bump() {
                    Some(escaped) if escaped == end || escaped == '\\' || escaped == '$' => inside.push(escaped),
                    Some(other) => inside.extend(['\\', other]),
                    None => {}
                },
                c => inside.push(c),
            }
        }
        inside
    }

    /// Up to the parenthesis that closes one already open.
    fn until_parenthesis(&mut self) -> String {
        self.until_closed('(', ')')
    }

    fn until_brace(&mut self) -> String {
        self.until_closed('{', '}')
    }

    fn until_closed(&mut self, open: char, close: char) -> String {
        let from = self.at;
        let mut depth = 1_usize;
        let mut quote: Option<char> = None;
        while let Some(c) = self.bump() {
            match (quote, c) {
                (Some('\''), '\'') => quote = None,
                (Some('\''), _) => {}
                (_, '\\') => {
                    self.bump();
                }
                (Some('"'), '"') => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (_, c) if c == open => depth += 1,
                (_, c) if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        let end = self.at - close.len_utf8();
                        return self.text.get(from..end).unwrap_or_default().to_owned();
                    }
                }
                _ => {}
            }
        }
        self.text.get(from..).unwrap_or_default().to_owned()
    }

    pub(super) fn ansi_c(&mut self) -> String {
        let mut decoded = String::new();
        while let Some(c) = self.bump() {
            if c == '\'' {
                break;
            }
            if c != '\\' {
                decoded.push(c);
                continue;
            }
            let Some(kind) = self.bump() else { break };
            match kind {
                'n' => decoded.push('\n'),
                't' => decoded.push('\t'),
                'r' => decoded.push('\r'),
                'x' => decoded.extend(self.digits(16, 2).and_then(char::from_u32)),
                'u' => decoded.extend(self.digits(16, 4).and_then(char::from_u32)),
                'U' => decoded.extend(self.digits(16, 8).and_then(char::from_u32)),
                '0'..='7' => {
                    self.at -= 1;
                    decoded.extend(self.digits(8, 3).and_then(char::from_u32));
                }
                other => decoded.push(other),
            }
        }
        decoded
    }

    fn digits(&mut self, radix: u32, most: usize) -> Option<u32> {
        let mut value = None;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)) else {
                break;
            };
            value = Some(value.unwrap_or(0_u32).wrapping_mul(radix).wrapping_add(digit));
            self.at += 1;
        }
        value
    }
}

fn flush(plain: &mut String, pieces: &mut Vec<Piece>) {
    if !plain.is_empty() {
        pieces.push(Piece::Plain(std::mem::take(plain)));
    }
}
