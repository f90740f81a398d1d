//! The registry of templates: loaded once, checked by rendering every one of them, and never changed afterwards.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use minijinja::filters;
use minijinja::syntax::SyntaxConfig;
use minijinja::tests::{is_defined, is_none};
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};
use serde::Serialize;

use super::blocks::{BUILT_IN, Blocks};
use super::compose::{self, Composed};
use super::context::{CodeRow, SystemContext};
use super::own::{Own, fence};
use super::{Length, Marks, PromptError, PromptInput, Rendered, SHORT_BUDGET_TOKENS, growth, sample, sources, tokens};
use crate::model::{Kind, ReasonCode};
use crate::policy::{Example, OwnCode, Policy};

/// Instructions that one template may execute.
const FUEL: u64 = 400_000;
/// Bytes that one template may write beyond what the budget allows for.
const SPARE_BYTES: usize = 256 * 1024;
/// Bytes of one file.
const MAX_FILE_BYTES: u64 = 256 * 1024;
/// Bytes of the organisation's own text: it is part of every call.
const MAX_TEXT_BYTES: u64 = 32 * 1024;
/// The file with the organisation's own text.
pub(super) const TEXT_FILE: &str = "guidance.md";
/// The largest budget, in tokens.
const MAX_BUDGET: usize = 1_000_000;

/// Every prompt, compiled. A reload makes a new one, so that a step sees one version from start to end.
pub struct Prompts {
    environment: Environment<'static>,
    version: String,
    /// The organisation's own text, as Markdown; empty when it has none.
    text: String,
    /// All of it, as it is written.
    source: String,
    /// The source of each template, for error messages.
    places: BTreeMap<&'static str, String>,
    /// Tokens of the prose of each template of steps, once they are needed.
    prose: BTreeMap<&'static str, OnceLock<usize>>,
    /// True if full templates are the organisation's own, and none of the short ones is: the short ones do not say what it wants.
    only_full: bool,
}

/// One template that renders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedTemplate {
    /// Its name.
    pub name: &'static str,
    /// Its source: a file, or the built-in templates.
    pub place: String,
    /// Estimated tokens of the sample, marks included.
    pub tokens: usize,
}

impl Prompts {
    /// Compiles the built-in prompts.
    ///
    /// # Errors
    ///
    /// Never with the templates of this crate; a test holds that.
    pub fn builtin() -> Result<Self, PromptError> {
        Self::compile(BTreeMap::new(), String::new())
    }

    /// Compiles the built-in prompts, with the files of a directory in place of those of the same name.
    ///
    /// Files whose name begins with a dot are passed over. Everything is rendered once from samples, so that prompts that
    /// load also work.
    ///
    /// # Errors
    ///
    /// When the directory or a file cannot be read, when a file is none of our templates, when one does not parse, names something that does not
    /// exist, or leaves out a part that the judge needs.
    pub fn load(dir: &Path) -> Result<Self, PromptError> {
        let (mut files, mut text) = (BTreeMap::new(), String::new());
        let entries = std::fs::read_dir(dir).map_err(|error| unreadable(dir, &error))?;
        for entry in entries {
            let path = entry.map_err(|error| unreadable(dir, &error))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with('.') {
                continue;
            }
            if name == TEXT_FILE {
                text = read(&path, MAX_TEXT_BYTES)?;
                continue;
            }
            let Some((known, _)) = sources::ALL.iter().find(|(known, _)| *known == name) else {
                return Err(PromptError::UnknownFile {
                    path,
                    expected: sources::ALL
                        .iter()
                        .map(|(name, _)| *name)
                        .chain([TEXT_FILE])
                        .collect::<Vec<_>>()
                        .join(", "),
                });
            };
            files.insert(*known, (path.display().to_string(), read(&path, MAX_FILE_BYTES)?));
        }
        let prompts = Self::compile(files, text)?;
        prompts.check()?;
        Ok(prompts)
    }

    /// Returns all templates and texts as they are written, each under a line with its name: the text that [`Self::version`] is the version of.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the estimated tokens that the organisation's own text costs in every call.
    pub fn text_tokens(&self) -> usize {
        tokens::estimate(&self.text)
    }

    /// Checks that the additions of a policy to the system prompt are shown, and returns the tokens of the system prompt without them and with them.
    ///
    /// # Errors
    ///
    /// When the template of the system prompt does not render with it, or leaves it out.
    pub fn check_policy(&self, policy: &Policy) -> Result<(usize, usize), PromptError> {
        let marks = sample::marks();
        let own = Own::of(policy);
        let system = self.system(sources::SYSTEM, own, &marks)?;
        if let Some(example) = policy.examples.iter().find(|example| !system.contains(&example.why)) {
            return Err(PromptError::Incomplete {
                file: self.place(sources::SYSTEM),
                missing: format!("the examples of the policy, such as the one with `{}`", example.why),
            });
        }
        let codes = Own {
            guidance: "",
            examples: &[],
            ..own
        };
        let without = self.system(sources::SYSTEM, codes, &marks)?;
        Ok((tokens::estimate(&without), tokens::estimate(&system)))
    }

    /// Changes exactly when a template changes: 12 hexadecimal digits.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the built-in templates, by name, to be written out and edited.
    pub fn sources() -> impl Iterator<Item = (&'static str, &'static str)> {
        sources::ALL.iter().copied()
    }

    /// Renders every template from samples.
    ///
    /// # Errors
    ///
    /// When one does not render or leaves out a part that the judge needs.
    pub fn check(&self) -> Result<Vec<CheckedTemplate>, PromptError> {
        let marks = sample::marks();
        let own = [OwnCode {
            code: ReasonCode::Organisation("org.sample".to_owned()),
            meaning: "sample meaning".to_owned(),
        }];
        let own = Own {
            guidance: "",
            codes: &own,
            examples: &[],
        };
        let mut checked = Vec::new();
        for name in [sources::SYSTEM, sources::SHORT[0]] {
            let system = self.system(name, own, &marks)?;
            self.holds(name, &system, &sample::needed_of_system(&marks))?;
            checked.push(self.checked(name, &system));
        }
        let mut check_step = |name, kind| {
            self.write(name, &sample::bare(kind), SPARE_BYTES)?;
            let full = self.write(name, &sample::full(kind), SPARE_BYTES)?;
            self.holds(name, &full, &sample::needed_of_step())?;
            checked.push(self.checked(name, &full));
            Ok(())
        };
        check_step(sources::SHORT[1], Kind::ToolCall)?;
        Kind::ALL
            .iter()
            .try_for_each(|kind| check_step(sources::of_kind(*kind), *kind))?;
        Ok(checked)
    }

    /// Renders the prompt for a step.
    ///
    /// # Errors
    ///
    /// When a template fails on this step although it did not fail on the samples: a loop that runs out of fuel, an
    /// output beyond all bounds.
    pub fn render(&self, input: &PromptInput<'_>, marks: &Marks) -> Result<Rendered, PromptError> {
        let (length, most) = match input.length {
            Length::Short if !self.only_full => (Length::Short, SHORT_BUDGET_TOKENS),
            Length::Short | Length::Full => (Length::Full, MAX_BUDGET),
        };
        let budget = input.budget_tokens.min(most);
        let [system, of_step] = sources::of(length, input.step.kind);
        let system = self.system(system, Own::of(input.policy), marks)?;
        let fence = fence(&marks.fence)?;
        let prose = self.prose(of_step, input.step.kind)?;
        let system_tokens = tokens::estimate(&system);
        let spent = system_tokens + prose;
        let Composed {
            context,
            shown,
            cut,
            parts,
        } = compose::compose(input, &fence, budget.saturating_sub(spent));
        let bound = SPARE_BYTES + budget.saturating_mul(8);
        let user = self.write(of_step, &context, bound)?;
        let user = match input.withheld.without(&user) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => user,
        };
        let tokens = system_tokens + tokens::estimate(&user);
        Ok(Rendered {
            system,
            user,
            shown,
            cut,
            tokens,
            parts,
        })
    }

    fn compile(mut files: BTreeMap<&'static str, (String, String)>, text: String) -> Result<Self, PromptError> {
        let mut environment = environment()?;
        let mut written = String::new();
        let mut places = BTreeMap::new();
        let (mut own_full, mut own_short) = (false, false);
        let mut hash = blake3::Hasher::new();
        for (name, builtin) in sources::ALL {
            let (place, source) = files
                .remove(name)
                .unwrap_or_else(|| (format!("built-in {name}"), (*builtin).to_owned()));
            for part in [name.as_bytes(), source.as_bytes()] {
                hash.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
                hash.update(part);
            }
            written.push_str(&format!("===== {name} =====\n{source}"));
            let wrong = |(line, what)| PromptError::Broken {
                file: place.clone(),
                line: Some(line),
                what,
            };
            let is_own = source != *builtin;
            if is_own {
                match sources::SHORT.contains(name) {
                    true => own_short = true,
                    false => own_full = true,
                }
                growth::refuse(&source).map_err(wrong)?;
            }
            let blocks = is_own.then(|| Blocks::read(name, &source)).transpose().map_err(wrong)?;
            if let Some(blocks) = blocks.filter(|blocks| blocks.extends) {
                blocks
                    .are_in(&Blocks::read(name, builtin).map_err(wrong)?)
                    .map_err(wrong)?;
                hash.update(builtin.as_bytes());
                let name = format!("{BUILT_IN}{name}");
                written.push_str(&format!("===== {name} =====\n{builtin}"));
                environment
                    .add_template_owned(name.clone(), (*builtin).to_owned())
                    .map_err(|error| broken(innermost(&error), name, None))?;
            }
            environment
                .add_template_owned(*name, source)
                .map_err(|error| broken(innermost(&error), place.clone(), None))?;
            places.insert(*name, place);
        }
        if !text.is_empty() {
            hash.update(text.as_bytes());
            written.push_str(&format!("===== {TEXT_FILE} =====\n{text}"));
        }
        let version = hash.finalize().to_hex().chars().take(12).collect();
        Ok(Self {
            environment,
            version,
            text,
            source: written,
            places,
            prose: sources::ALL.iter().map(|(name, _)| (*name, OnceLock::new())).collect(),
            only_full: own_full && !own_short,
        })
    }

    fn prose(&self, name: &str, kind: Kind) -> Result<usize, PromptError> {
        let known = self.prose.get(name);
        if let Some(tokens) = known.and_then(OnceLock::get) {
            return Ok(*tokens);
        }
        let prose = self.write(name, &sample::full(kind), SPARE_BYTES)?;
        let tokens = tokens::estimate(&prose);
        Ok(known.map_or(tokens, |known| *known.get_or_init(|| tokens)))
    }

    fn system(&self, name: &str, own: Own<'_>, marks: &Marks) -> Result<String, PromptError> {
        let published = ReasonCode::all().map(|code| CodeRow {
            name: code.as_str().to_owned(),
            meaning: code.meaning().to_owned(),
        });
        let of_policy = own.codes.iter().map(|own| CodeRow {
            name: own.code.as_str().to_owned(),
            meaning: own.meaning.clone(),
        });
        let guidance = match (own.guidance.trim(), self.text.trim()) {
            (guidance, "") => guidance.to_owned(),
            ("", text) => text.to_owned(),
            (guidance, text) => format!("{guidance}\n\n{text}"),
        };
        let bound = SPARE_BYTES + guidance.len() + own.examples.iter().map(Example::bytes).sum::<usize>();
        let context = SystemContext {
            codes: published.chain(of_policy).collect(),
            guidance: &guidance,
            examples: own.examples(&marks.fence)?,
            fence: &marks.fence,
            canary: &marks.canary,
        };
        self.write(name, &context, bound)
    }

    fn write(&self, name: &str, context: &impl Serialize, bound: usize) -> Result<String, PromptError> {
        let written = self.environment.get_template(name).and_then(|template| {
            let mut out = Bounded::new(bound);
            template.render_captured_to(minijinja::Value::from(Serde(context)), &mut out)?;
            String::from_utf8(out.bytes).map_err(|_| Error::new(ErrorKind::WriteFailure, "the output is not UTF-8"))
        });
        written.map_err(|error| self.broken(&error, name))
    }

    fn broken(&self, error: &Error, name: &str) -> PromptError {
        let error = innermost(error);
        let name = error.name().unwrap_or(name);
        let template = self.environment.get_template(name).ok();
        let expression = template
            .as_ref()
            .zip(error.range())
            .and_then(|(template, range)| template.source().get(range));
        broken(error, self.place(name), expression)
    }

    fn place(&self, name: &str) -> String {
        self.places.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    fn holds(&self, name: &str, text: &str, needed: &[sample::Needed]) -> Result<(), PromptError> {
        match needed.iter().find(|needed| !needed.is_in(text)) {
            None => Ok(()),
            Some(needed) => Err(PromptError::Incomplete {
                file: self.place(name),
                missing: needed.what.to_owned(),
            }),
        }
    }

    fn checked(&self, name: &'static str, text: &str) -> CheckedTemplate {
        CheckedTemplate {
            name,
            place: self.place(name),
            tokens: tokens::estimate(text),
        }
    }
}

impl std::fmt::Debug for Prompts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prompts")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// Makes an environment without a loader: templates see each other, and no file.
fn environment() -> Result<Environment<'static>, PromptError> {
    let mut environment = Environment::empty();
    // None that makes long strings of short ones; there are no functions.
    environment.add_filter("default", filters::default);
    environment.add_filter("first", filters::first);
    environment.add_filter("last", filters::last);
    environment.add_filter("length", filters::length);
    environment.add_filter("lower", filters::lower);
    environment.add_filter("trim", filters::trim);
    environment.add_filter("upper", filters::upper);
    environment.add_test("defined", is_defined);
    environment.add_test("none", is_none);
    // Block tags on lines of their own leave no trace.
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.map_err(|error| broken(&error, "the syntax of templates".to_owned(), None))?);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    // Error messages are logged; they must not hold what a template was given.
    environment.set_debug(false);
    Ok(environment)
}

/// Returns the innermost error, which names the fault; the outer ones only say which template included which.
fn innermost(error: &Error) -> &Error {
    let mut innermost = error;
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        innermost = inner.downcast_ref().unwrap_or(innermost);
        source = inner.source();
    }
    innermost
}

fn broken(error: &Error, file: String, expression: Option<&str>) -> PromptError {
    let mut what = error.kind().to_string();
    if let Some(detail) = error.detail() {
        what.push_str(&format!(": {detail}"));
    }
    if let Some(cause) = std::error::Error::source(error) {
        what.push_str(&format!(": {cause}"));
    }
    if let Some(expression) = expression.map(str::trim).filter(|expression| !expression.is_empty()) {
        what.push_str(&format!(" in `{expression}`"));
    }
    PromptError::Broken {
        file,
        line: error.line(),
        what,
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> PromptError {
    PromptError::Unreadable {
        path: path.to_owned(),
        why: error.to_string(),
    }
}

fn read(path: &Path, most: u64) -> Result<String, PromptError> {
    let about = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if !about.is_file() || about.len() > most {
        return Err(PromptError::Unreadable {
            path: path.to_owned(),
            why: format!("expected a file of at most {most} bytes"),
        });
    }
    std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

/// A writer that fails rather than grow without end: fuel does not limit what is written.
struct Bounded {
    bytes: Vec<u8>,
    bound: usize,
}

impl Bounded {
    fn new(bound: usize) -> Self {
        Self {
            bytes: Vec::new(),
            bound,
        }
    }
}

impl std::io::Write for Bounded {
    fn write(&mut self, part: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() + part.len() > self.bound {
            let bound = self.bound;
            return Err(std::io::Error::other(format!("it is longer than {bound} bytes")));
        }
        self.bytes.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
