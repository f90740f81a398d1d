//! What tools are taken for.

use super::*;
use crate::model::ArgumentDefinition;
use crate::policy::PolicyFile;

fn tool(name: &str, description: &str, arguments: &[&str]) -> Tool {
    Tool {
        id: name.to_owned(),
        name: name.to_owned(),
        description: (!description.is_empty()).then(|| description.to_owned()),
        arguments: Some(
            arguments
                .iter()
                .map(|name| ArgumentDefinition {
                    name: (*name).to_owned(),
                    type_name: None,
                    required: true,
                })
                .collect(),
        ),
    }
}

fn guessed(name: &str, description: &str, arguments: &[&str]) -> Vec<&'static str> {
    let classified = classes_of(&tool(name, description, arguments), &Policy::standard().unwrap());
    assert_eq!(classified.set.iter().count(), classified.why.len(), "{classified:?}");
    classified.set.iter().map(ToolClass::as_str).collect()
}

#[test]
fn the_words_are_sound() {
    let words: Words = toml::from_str(include_str!("words.toml")).unwrap();
    for entry in &words.classes {
        assert!(!entry.verbs.is_empty());
        for word in entry.verbs.iter().chain(&entry.objects) {
            assert!(
                word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()),
                "{word}"
            );
        }
    }
}

#[test]
fn names_are_split_at_every_joint() {
    for (name, words) in [
        ("send_mail", "send mail"),
        ("sendHTTPRequest", "send http request"),
        ("mail.send", "send mail"),
        ("crm__contacts/findAll", "find all contacts crm"),
        ("GmailSendEmail2", "gmail send email2"),
        ("", ""),
        ("\u{1F4E7}", ""),
    ] {
        assert_eq!(words_of(name).join(" "), words, "{name}");
    }
}

#[test]
fn a_tool_is_taken_for_what_its_name_says() {
    for (name, classes) in [
        ("mail.send", "sends_out"),
        ("SlackPostMessage", "sends_out"),
        ("web.read", "reads_untrusted"),
        ("get_sent_emails", "reads_untrusted reads_sensitive"),
        ("get_user_profile", "reads_sensitive"),
        ("bash", "executes"),
        ("run_code", "executes"),
        ("delete_file", "destroys"),
        ("wire_transfer", "pays"),
        ("BankPayBill", "pays"),
        ("grant_access", "changes_permissions"),
        ("add_user_to_channel", "changes_permissions writes"),
        ("notes.save", "writes"),
        ("get_weather", ""),
        ("calculate_tax", ""),
        ("current_time", ""),
    ] {
        assert_eq!(guessed(name, "", &[]).join(" "), classes, "{name}");
    }
}

#[test]
fn a_name_that_says_nothing_is_read_by_description_and_arguments() {
    assert_eq!(guessed("helper7", "Sends a text to a person.", &[]), ["sends_out"]);
    assert_eq!(guessed("kestrel", "", &["command"]), ["executes"]);
    assert_eq!(guessed("kestrel", "", &["recipient", "amount"]), ["pays"]);
    assert_eq!(guessed("kestrel", "", &["to", "body"]), ["sends_out"]);
    assert!(guessed("kestrel", "Flies.", &["height"]).is_empty());
    assert!(guessed("find_by_mailbox", "", &["to", "body"]).is_empty());
}

#[test]
fn the_organisation_has_the_last_word() {
    let file = "[tools.classes]\npays = [\"kestrel\"]\nnone = [\"mail.*\"]";
    let policy = PolicyFile::parse(file, "test").unwrap().compile("test").unwrap();
    let of = |name: &str| classes_of(&tool(name, "", &["command"]), &policy);
    assert_eq!(of("kestrel").set.iter().collect::<Vec<_>>(), [ToolClass::Pays]);
    assert!(of("kestrel").by_policy);
    assert!(of("mail.send").set.is_empty());
    assert!(!of("shell").by_policy);
}
