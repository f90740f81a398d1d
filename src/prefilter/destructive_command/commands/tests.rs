use super::*;

#[test]
fn patterns_mean_what_the_table_says() {
    for (pattern, arg) in [
        ("-r", "-rf"),
        ("-r", "-r"),
        ("delete-%", "delete-trail"),
        ("%admin%", "cluster-admin-x"),
        ("%a%b%", "xaxbx"),
        ("4???", "4755"),
        ("%disabled", "x=disabled"),
    ] {
        assert!(fits(pattern, arg), "{pattern} {arg}");
    }
    for (pattern, arg) in [
        ("-r", "--recursive"),
        ("-r", "r"),
        ("delete", "deleted"),
        ("4???", "47555"),
        ("4???", "4abc"),
        ("%b%a%", "xaxbx"),
        ("*", "x"),
    ] {
        assert!(!fits(pattern, arg), "{pattern} {arg}");
    }
}

#[test]
fn every_line_has_programs_in_lower_case() {
    let table = TABLE.get();
    let dangers = table
        .dangers
        .iter()
        .map(|(program, commands)| (program, commands.iter().map(|(_, words)| words)));
    for (program, commands) in dangers {
        assert!(!program.is_empty() && *program == program.to_ascii_lowercase());
        for word in commands.flatten().flatten() {
            assert_eq!(*word, word.to_ascii_lowercase(), "{program}");
        }
    }
}

#[test]
fn whatever_sends_is_looked_at_as_such() {
    use super::super::{outflow, sends_by_command};
    for program in TABLE.get().sends.keys() {
        assert!(outflow::may_send(&format!("{program} x")), "{program}");
    }
    for command in [
        "azcopy copy ./notes https://files.example/box",
        "https post files.example/box a=b",
        "gh gist create notes.txt",
        "curl -d @notes.txt https://files.example/box",
    ] {
        assert!(sends_by_command(command), "{command}");
    }
}
