//! What the documents say is what the program does.

use std::fmt::Write;
use std::path::Path;

use aos_guardian::model::ReasonCode;
use aos_guardian::prompt::Prompts;

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

#[test]
fn the_readme_lists_every_reason_code_with_its_owasp_ids() {
    let mut table = String::from("| code | meaning | OWASP |\n|---|---|---|\n");
    for code in ReasonCode::all() {
        writeln!(table, "| `{code}` | {} | {} |", code.meaning(), code.owasp().join(", ")).unwrap();
    }
    assert!(
        read("README.md").contains(&table),
        "README.md should hold this table:\n\n{table}"
    );
}

#[test]
fn the_prompts_folder_holds_what_is_compiled_in() {
    for (name, text) in Prompts::sources() {
        assert_eq!(read(&format!("prompts/{name}")), text, "{name}");
    }
}
