use super::*;

fn found<'t>(text: &'t str, name: &str) -> Vec<(usize, &'t str)> {
    let at = text.find(name).unwrap();
    let meaning = |cell: &str| {
        ["ssn", "Passport No", "name", "full_name"]
            .iter()
            .position(|known| *known == cell)
    };
    Tables::default()
        .around(text, &(at..at + name.len()), meaning)
        .map_or_else(Vec::new, |table| {
            let cells = table.cells.into_iter();
            cells.map(|cell| (cell.meaning, &text[cell.span])).collect()
        })
}

#[test]
fn the_columns_of_a_table_are_read_to_its_end() {
    assert_eq!(
        found(
            "id,ssn,plan\n1,219-09-9998,gold\n2,\"219099998\",silver\n\n3,219-09-9997,x",
            "ssn"
        ),
        [(0, "219-09-9998"), (0, "219099998")]
    );
    assert_eq!(
        found(
            "| plan | Passport No |\n|---|---|\n| gold | X1234567 |\n",
            "Passport No"
        ),
        [(1, "---"), (1, "X1234567")]
    );
    assert_eq!(
        found("name;ssn\r\nNina Falk;X1234567\r\n", "name"),
        [(2, "Nina Falk"), (0, "X1234567")]
    );
    assert_eq!(
        found(
            "INSERT INTO people (plan, full_name, note) VALUES ('gold', 'Nina, Falk', 'x'), ('a', 'Tom Berg', 'y');",
            "full_name"
        ),
        [(3, "Nina, Falk"), (3, "Tom Berg")]
    );
}

#[test]
fn a_sentence_is_no_table() {
    assert_eq!(found("My ssn, which I lost, is old\nand mine, too, alas\n", "ssn"), []);
    assert_eq!(found("ssn,plan", "ssn"), []);
}

proptest::proptest! {
    #[test]
    fn any_text_is_survived_and_cells_are_on_borders(text in "(ssn|name|[(),;|\t\n\"' é]|values|12){0,40}", at in 0_usize..60) {
        let at = text.floor_char_boundary(at.min(text.len()));
        let table = Tables::default().around(&text, &(at..at), |cell| (cell == "ssn").then_some(()));
        for cell in table.into_iter().flat_map(|table| table.cells) {
            proptest::prop_assert!(text.get(cell.span).is_some());
        }
    }
}
