//! The floor: labelled steps that a learned model has to hold, whatever an organisation's judge said.
//!
//! They are kept as the scorer sees them, for one model: `guardian learn floor` makes the file, from labelled suites.

use std::path::Path;

use crate::local::{Model, Slots};

const MAGIC: &[u8; 8] = b"AOSFLOOR";
/// The floor of the built-in model: attacks and honest steps of `evals/`, disguises and stuffed attacks among them.
const BUILT_IN: &[u8] = include_bytes!("default.floor");

/// A labelled step.
#[derive(Clone, Debug, PartialEq)]
pub struct FloorStep {
    /// The suite that it comes from.
    pub suite: String,
    /// The group that is held back together, so that no model is measured on steps like those that it has seen.
    pub group: String,
    /// True if it must not pass.
    pub harmful: bool,
    /// The step as the scorer sees it.
    pub slots: Slots,
}

/// Labelled steps, as one model sees them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Floor {
    /// The version of the model.
    pub base: String,
    /// The steps.
    pub steps: Vec<FloorStep>,
}

impl Floor {
    /// Returns the floor that is compiled in, where it was made for this model; otherwise one without steps.
    pub fn built_in(base: &Model) -> Self {
        let floor = Self::parse(BUILT_IN).unwrap_or_default();
        match floor.base == base.version() {
            true => floor,
            false => Self::default(),
        }
    }

    /// Returns the floor that is compiled in, and with it that of a file, where one is named.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or holds no floor for this model.
    pub fn with(base: &Model, file: Option<&Path>) -> std::io::Result<Self> {
        let mut floor = Self::built_in(base);
        if let Some(file) = file {
            let named = |why: String| std::io::Error::other(format!("{}: {why}", file.display()));
            let bytes = std::fs::read(file).map_err(|error| named(error.to_string()))?;
            let own = Self::parse(&bytes).filter(|own| own.base == base.version());
            let version = base.version();
            let own = own.ok_or_else(|| {
                named(format!(
                    "expected a floor of `guardian learn floor` for model {version}"
                ))
            })?;
            floor.base = own.base;
            floor.steps.extend(own.steps);
        }
        Ok(floor)
    }

    /// Returns the bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        put(self.base.as_bytes(), &mut bytes);
        for step in &self.steps {
            let Some(slots) = step.slots.to_bytes() else { continue };
            bytes.push(u8::from(step.harmful));
            put(step.suite.as_bytes(), &mut bytes);
            put(step.group.as_bytes(), &mut bytes);
            put(&slots, &mut bytes);
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) made; `None` where it is something else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let base = text(&mut rest)?;
        let mut steps = Vec::new();
        while let Some((harmful, more)) = rest.split_first() {
            rest = more;
            steps.push(FloorStep {
                harmful: *harmful == 1,
                suite: text(&mut rest)?,
                group: text(&mut rest)?,
                slots: Slots::parse(take(&mut rest)?)?,
            });
        }
        Some(Self { base, steps })
    }
}

fn put(part: &[u8], bytes: &mut Vec<u8>) {
    let length = u16::try_from(part.len()).unwrap_or(u16::MAX);
    bytes.extend(length.to_le_bytes());
    bytes.extend(part.iter().take(usize::from(length)));
}

fn take<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, more) = rest.split_first_chunk::<2>()?;
    let (part, more) = more.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    *rest = more;
    Some(part)
}

fn text(rest: &mut &[u8]) -> Option<String> {
    String::from_utf8(take(rest)?.to_vec()).ok()
}
