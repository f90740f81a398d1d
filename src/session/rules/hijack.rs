//! Calls, messages and memories that do what an instruction says which stood in a text without authority.

use super::scene::{Role, Scene};
use super::{Sighting, finding};
use crate::model::{Confidence, ContentId, Finding, Kind, Pointer, ToolClass, Voice};
use crate::session::classes;
use crate::session::taint::{Echo, EchoKind, Standing, ValueKind, plain};
use crate::session::trail::Instruction;

/// Words of an argument that is compared as a whole.
const MOST_WORDS: usize = 12;

pub(super) fn screen(scene: &Scene<'_>, found: &mut Vec<Finding>) {
    match scene.step.kind {
        Kind::ToolCall | Kind::McpRequest | Kind::A2aRequest => call(scene, found),
        Kind::AgentMessage => message(scene, found),
        Kind::MemoryStore => memory(scene, found),
        _ => {}
    }
}

/// How a call and an instruction agree.
struct Match<'a> {
    instruction: &'a Instruction,
    /// A value of the call that stands in no other text.
    value: Option<&'a Echo>,
    /// An argument that stands in the instruction as it is, and not in the user's words.
    phrase: Option<(&'a str, ContentId, Pointer, usize)>,
    /// The tool's name stands in it.
    names_tool: bool,
    /// It uses a word for what the tool does.
    names_act: bool,
}

fn call(scene: &Scene<'_>, found: &mut Vec<Finding>) {
    let mut weak: Option<Match<'_>> = None;
    for instruction in scene.trail().instructions() {
        let matched = matched(scene, instruction);
        if follows(scene, &matched) {
            found.extend(tell("follows_instruction", scene, &matched));
            return;
        }
        if weak.is_none() && resembles(scene, &matched) {
            weak = Some(matched);
        }
    }
    if let Some(matched) = weak {
        found.extend(tell("resembles_instruction", scene, &matched));
    }
}

fn matched<'a>(scene: &'a Scene<'_>, instruction: &'a Instruction) -> Match<'a> {
    let value = scene.echoes.iter().find(|echo| is_of(scene, echo, instruction));
    let taint = scene.trail().taint();
    let phrase = scene.arguments().find_map(|content| {
        let words = plain(&content.text);
        let count = words.split_whitespace().count();
        let telling = (count >= 2 && words.len() >= 8) || (count == 1 && words.len() >= 7);
        let there = count <= MOST_WORDS && telling && instruction.words.contains(&words);
        (there && !taint.user_said_all(&content.text)).then(|| {
            let name = content.label.as_deref().unwrap_or("an argument");
            (name, content.id, content.pointer.clone(), content.text.len())
        })
    });
    let tool = scene.step.tool_call.as_ref().map_or("", |call| call.tool.as_str());
    Match {
        instruction,
        value,
        phrase,
        names_tool: names_tool(tool, instruction),
        names_act: names_act(scene, tool, instruction),
    }
}

/// Whether a value of the call comes from this instruction, and from nowhere else.
fn is_of(scene: &Scene<'_>, echo: &Echo, instruction: &Instruction) -> bool {
    let written = echo
        .content
        .and_then(|id| scene.step.content(id))
        .and_then(|content| content.text.get(echo.span.clone()));
    let there = match written {
        Some(written) => instruction.words.contains(plain(written).trim()),
        None => true,
    };
    echo.instructed && !echo.plain && echo.standing != Standing::User && (there || echo.first == instruction.place)
}

/// Whether an instruction names the tool itself, as programs write it.
fn names_tool(tool: &str, instruction: &Instruction) -> bool {
    let words = plain(tool);
    let count = words.split_whitespace().count();
    let telling = count >= 2 || words.len() >= 10;
    telling && instruction.words.contains(&words)
}

/// Whether an instruction uses a word for what the tool does.
fn names_act(scene: &Scene<'_>, tool: &str, instruction: &Instruction) -> bool {
    let uses = |word: &str| instruction.words.contains(&format!(" {word} "));
    classes::words_of(tool).iter().any(|word| word.len() >= 3 && uses(word))
        || scene
            .classified
            .set
            .iter()
            .any(|class| class.acts() && classes::verbs_of(class).any(uses))
}

/// Whether the call follows the instruction, and nobody who may asked for it.
fn follows(scene: &Scene<'_>, matched: &Match<'_>) -> bool {
    if !scene.acts() || scene.trail().delegates() {
        return false;
    }
    let user = scene.past.authority().voice();
    let sure = matched.instruction.confidence >= Confidence::Medium;
    let strange = matched.value.is_some_and(|echo| match echo.kind {
        EchoKind::Value(kind) => {
            (kind.is_destination() && echo.standing == Standing::Stranger)
                || (matched.names_act && kind != ValueKind::Number)
        }
        EchoKind::Passage => false,
    });
    let taint = scene.trail().taint();
    let user_named_tool = taint.user_said_all(scene.tool());
    let named = matched.names_tool && !user_named_tool && user != Voice::Unheard;
    let spelled_out =
        matched.phrase.is_some() && matched.names_act && matched.instruction.confidence == Confidence::High;
    sure && (strange || named || spelled_out)
}

/// Whether there is a likeness that a judge should know of.
fn resembles(scene: &Scene<'_>, matched: &Match<'_>) -> bool {
    let acts = scene.acts() || scene.has(ToolClass::ReadsSensitive);
    let value = matched.value.is_some();
    acts && (value || matched.names_tool || (matched.phrase.is_some() && matched.names_act))
}

fn tell(rule: &str, scene: &Scene<'_>, matched: &Match<'_>) -> Option<Finding> {
    let place = matched.instruction.place.describe();
    let call = scene.step.tool_call.as_ref();
    let tool = call.and_then(|call| call.content).and_then(|id| scene.step.content(id));
    let (what, content, pointer, span) = match (matched.value, &matched.phrase) {
        (Some(echo), _) => (
            scene.name_of(echo),
            echo.content,
            echo.pointer.clone(),
            echo.span.clone(),
        ),
        (None, Some((name, id, pointer, length))) => (
            format!("`{}`", crate::session::taint::short(name)),
            Some(*id),
            pointer.clone(),
            0..*length,
        ),
        (None, None) => (
            "the tool".to_owned(),
            tool.map(|content| content.id),
            tool.map(|content| content.pointer.clone()).unwrap_or_default(),
            0..tool.map_or(0, |content| content.text.len()),
        ),
    };
    finding(
        rule,
        scene,
        Sighting {
            content,
            pointer,
            span,
            what: &what,
            place: &place,
        },
    )
}

/// An address of an instruction in the words of the agent.
fn message(scene: &Scene<'_>, found: &mut Vec<Finding>) {
    let echo = scene.echoes.iter().find(|echo| {
        let goes_somewhere = matches!(
            echo.kind,
            EchoKind::Value(ValueKind::Url | ValueKind::Email | ValueKind::Host | ValueKind::Account)
        );
        goes_somewhere && echo.instructed && !echo.plain && echo.standing == Standing::Stranger
    });
    if let Some(echo) = echo {
        found.extend(of_echo("repeats_instruction", scene, echo));
    }
}

/// An instruction that is to be remembered.
fn memory(scene: &Scene<'_>, found: &mut Vec<Finding>) {
    let taint = scene.trail().taint();
    let echo = scene.echoes.iter().find(|echo| {
        let strange = echo.standing == Standing::Stranger;
        match echo.kind {
            EchoKind::Value(kind) => strange && echo.instructed && !echo.plain && kind.is_destination(),
            EchoKind::Passage => {
                let written = echo
                    .content
                    .and_then(|id| scene.step.content(id))
                    .and_then(|content| content.text.get(echo.span.clone()));
                let words = written.map(plain).unwrap_or_default();
                strange
                    && scene
                        .trail()
                        .instructions()
                        .any(|instruction| instruction.words.contains(&words))
                    && !taint.user_said_all(&words)
            }
        }
    });
    if let Some(echo) = echo {
        found.extend(of_echo("stores_untrusted", scene, echo));
    }
}

/// A finding about something that was read before.
pub(super) fn of_echo(rule: &str, scene: &Scene<'_>, echo: &Echo) -> Option<Finding> {
    let sighting = Sighting {
        content: echo.content,
        pointer: echo.pointer.clone(),
        span: echo.span.clone(),
        what: &scene.name_of(echo),
        place: &echo.first.describe(),
    };
    finding(rule, scene, sighting)
}

/// Whether something stands where the call says what is said, rather than to whom.
pub(super) fn is_said(scene: &Scene<'_>, echo: &Echo) -> bool {
    scene.role(&echo.pointer, echo.content) == Role::Body
}
